//! Errors of job files, and of fio's options on a command line.

use std::io;

/// Reason why a job file, or fio's options on a command line, cannot be used. The text names no file: [`line`] says
/// where in it the problem is.
///
/// [`line`]: JobFileError::line
#[derive(Debug, thiserror::Error)]
pub enum JobFileError {
    /// The file cannot be read: name another.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// The file has no section but `[global]`: begin one.
    #[error("no section: [global] alone is no job")]
    NoSection,
    /// The command line has no section but `global`: begin one.
    #[error("name=global alone is no job: begin one by --name NAME")]
    NoName,
    /// The line begins a section but has no name in brackets.
    #[error("'{text}' is not a section: write [name]")]
    Heading {
        /// Number of the line, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// The option is above the first section: move it, or begin a section above it.
    #[error("'{text}' is in no section: write [global] or [name] above it")]
    Outside {
        /// Number of the line, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// The option is not known.
    #[error("{key}: not an option here; docs/fio.md has those that are")]
    Unknown {
        /// Number of the line, from 1; 0 on a command line.
        line: usize,
        /// Name of the option.
        key: String,
    },
    /// The option, or its value, cannot be used: do as the problem says.
    #[error("{option}: {problem}")]
    Option {
        /// Number of the line, from 1; 0 on a command line.
        line: usize,
        /// The option as it is written, with its value.
        option: String,
        /// Description of what is wrong, and what to do.
        problem: String,
    },
    /// The section as a whole cannot be used: do as the problem says.
    #[error("[{name}] {problem}")]
    Section {
        /// Number of the line at which it begins, from 1; 0 on a command line.
        line: usize,
        /// Name of the section.
        name: String,
        /// Description of what is wrong, and what to do.
        problem: String,
    },
}

impl JobFileError {
    /// Returns the number of the line with the problem, from 1; 0 if that is no line of a file.
    pub fn line(&self) -> usize {
        match self {
            JobFileError::Unreadable(_) | JobFileError::NoName => 0,
            JobFileError::NoSection => 1,
            JobFileError::Heading { line, .. }
            | JobFileError::Outside { line, .. }
            | JobFileError::Unknown { line, .. }
            | JobFileError::Option { line, .. }
            | JobFileError::Section { line, .. } => *line,
        }
    }
}
