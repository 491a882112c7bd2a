//! Errors of engines and their requests.

use joulio_kernel_io as kernel;
use joulio_nvme::NvmeError;
use joulio_nvme::spec::Status;

/// An engine that failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// User-space driver, or its device.
    #[error(transparent)]
    Nvme(#[from] NvmeError),
    /// Engine of the kernel's.
    #[error(transparent)]
    Kernel(#[from] kernel::KernelEngineError),
}

/// Failure of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Status of the device.
    #[error("{0}")]
    Nvme(Status),
    /// Error of the kernel.
    #[error(transparent)]
    Kernel(#[from] kernel::KernelRequestError),
    /// The run was stopped, and the device had not ended the request some time later.
    #[error("the run was stopped, and the device had not ended it half a second later")]
    Unfinished,
}

impl From<Status> for RequestError {
    fn from(status: Status) -> RequestError {
        RequestError::Nvme(status)
    }
}
