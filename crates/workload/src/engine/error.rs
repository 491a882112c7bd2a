//! Errors of engines and their requests.

use joulio_kernel_io as kernel;
use joulio_nvme::NvmeError;
use joulio_nvme::spec::Status;

/// Error of an engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Error of the user-space driver or its device.
    #[error(transparent)]
    Nvme(#[from] NvmeError),
    /// Error of one of the kernel's engines.
    #[error(transparent)]
    Kernel(#[from] kernel::KernelEngineError),
}

/// Error of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Status that the device reported.
    #[error("{0}")]
    Nvme(Status),
    /// Error that the kernel reported.
    #[error(transparent)]
    Kernel(#[from] kernel::KernelRequestError),
    /// The run was stopped, and half a second later the device had not completed the request.
    #[error("the run was stopped, and the device had not ended it half a second later")]
    Unfinished,
}

impl From<Status> for RequestError {
    fn from(status: Status) -> RequestError {
        RequestError::Nvme(status)
    }
}
