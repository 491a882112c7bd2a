//! Reasons why a profile cannot be loaded: each message is one line that says what to correct.

use std::path::PathBuf;

/// Why a profile was refused.
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
        /// The built-in name that is most like it, if one is.
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
    /// The text is not TOML, lacks a field, or has an unknown one.
    #[error("{origin}:{line}: {problem}")]
    Syntax {
        /// The file or the built-in name.
        origin: String,
        /// The line it happened on, counted from 1.
        line: usize,
        /// The problem there.
        problem: String,
    },
    /// A field is there but its value makes no sense.
    #[error("{origin}: {field} {problem}")]
    Invalid {
        /// The file or the built-in name.
        origin: String,
        /// The field's path in the TOML, as `service.read[1].us`.
        field: String,
        /// The allowed values, and the value.
        problem: String,
    },
}
