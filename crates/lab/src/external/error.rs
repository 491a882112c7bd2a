//! Why another program did not do a run.

use crate::error::OpenError;
use joulio_workload::{EngineName, RunError};
use std::io;

/// Why another program did not do a run.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The program is not installed.
    #[error("{program} is not on the PATH: {remedy}")]
    NoProgram {
        /// Name of the program.
        program: &'static str,
        /// Advice to the user: where it comes from.
        remedy: &'static str,
    },
    /// A library that the program loads is not installed.
    #[error("{library} is not found: {remedy}")]
    NoLibrary {
        /// Name of the library.
        library: &'static str,
        /// Advice to the user: where it comes from.
        remedy: &'static str,
    },
    /// A job, a device or a mode that the program does not have.
    #[error("--engine {engine}: {problem}")]
    Unfit {
        /// The engine.
        engine: EngineName,
        /// Description of what does not fit, and what to do.
        problem: String,
    },
    /// The device cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The program could not be begun or waited for.
    #[error("{program}: {source}")]
    System {
        /// Name of the program.
        program: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The program failed.
    #[error("{program}: {why}")]
    Failed {
        /// Name of the program.
        program: &'static str,
        /// Last words of the program, or the part that its output lacks.
        why: String,
    },
    /// The run was requested to end.
    #[error("{0}: ended early")]
    Stopped(&'static str),
    /// The meters cannot be read.
    #[error(transparent)]
    Meters(#[from] RunError),
}

impl ExternalError {
    /// True if nothing was begun: the machine or the device cannot do it.
    pub fn is_unfit(&self) -> bool {
        match self {
            ExternalError::NoProgram { .. }
            | ExternalError::NoLibrary { .. }
            | ExternalError::Unfit { .. } => true,
            ExternalError::Open(error) => !error.is_lost(),
            _ => false,
        }
    }
}
