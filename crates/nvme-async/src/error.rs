//! Errors of a command, with its buffers.

use joulio_nvme::spec::Status;
use joulio_nvme::{BufferList, NvmeError, SubmitError};
use std::fmt;
use std::sync::Arc;

/// Error of a command, with its buffers, which belong to the caller again.
pub struct IoError {
    /// Reason.
    pub reason: IoFailure,
    /// Buffers of the command; empty if the device kept them, or the command had none.
    pub buffers: BufferList,
}

/// Reason why a command failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoFailure {
    /// The command ended with a status other than success (NVM Express Base 2.0, 3.3.3.2).
    #[error("the command ended with: {0}")]
    Status(Status),
    /// The command was refused before it was submitted.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The controller can no longer be used.
    #[error(transparent)]
    Controller(Arc<NvmeError>),
}

impl fmt::Debug for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IoError({:?})", self.reason)
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for IoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.reason.source()
    }
}
