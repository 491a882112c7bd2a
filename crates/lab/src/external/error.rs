//! Errors of runs by other programs.

use crate::error::OpenError;
use joulio_workload::{EngineName, RunError};
use std::io;

/// Reason why another program did not complete a run.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The program is not installed.
    #[error("{program} is not on the PATH: {remedy}")]
    NoProgram {
        /// Name of the program.
        program: &'static str,
        /// Advice to the user on how to install it.
        remedy: &'static str,
    },
    /// A library that the program loads is not installed.
    #[error("{library} is not found: {remedy}")]
    NoLibrary {
        /// Name of the library.
        library: &'static str,
        /// Advice to the user on how to install it.
        remedy: &'static str,
    },
    /// The program does not support the job, the device or the completion mode.
    #[error("--engine {engine}: {problem}")]
    Unfit {
        /// The engine.
        engine: EngineName,
        /// Description of the problem, and its remedy.
        problem: String,
    },
    /// The device cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The program could not be started or waited for.
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
        /// Last message of the program, or the part that its output lacks.
        why: String,
    },
    /// The run was stopped early.
    #[error("{0}: ended early")]
    Stopped(&'static str),
    /// The meters cannot be read.
    #[error(transparent)]
    Meters(#[from] RunError),
}

impl ExternalError {
    /// Returns true if nothing was started: the machine or the device does not support the run.
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
