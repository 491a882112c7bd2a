//! Errors of loading a profile: each message is one line that says what to correct.

use std::path::PathBuf;

/// Error of a profile that is refused.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The name is not built in and is not a path to a `.toml` file.
    #[error("unknown {what} profile '{name}': {}known are {known} (or give a path to a .toml file)",
        near.as_ref().map_or(String::new(), |near| format!("did you mean {near}? ")))]
    Unknown {
        /// `device` or `machine`.
        what: &'static str,
        /// The name as given.
        name: String,
        /// Most similar built-in name, if one is similar.
        near: Option<String>,
        /// The built-in names, separated by commas.
        known: String,
    },
    /// The file could not be read.
    #[error("cannot read profile {}: {source}", path.display())]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The text is not TOML, or a field is missing or unknown.
    #[error("{origin}:{line}: {problem}")]
    Syntax {
        /// The file or the built-in name.
        origin: String,
        /// Line number, counted from 1.
        line: usize,
        /// Description of the problem.
        problem: String,
    },
    /// A field has an invalid value.
    #[error("{origin}: {field} {problem}")]
    Invalid {
        /// The file or the built-in name.
        origin: String,
        /// Path of the field in the TOML, such as `service.read[1].us`.
        field: String,
        /// Allowed values, and the value.
        problem: String,
    },
}
