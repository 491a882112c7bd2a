//! Errors of operations that a target does not have.

use joulio_kernel_io::NoOperation;

/// Reason why an engine cannot execute an operation on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// The controller cannot trim: use another device, or leave trims out.
    #[error("the controller has no Dataset Management (ONCS bit 2)")]
    NoTrims,
    /// The kernel or the file does not have it: do as the reason says.
    #[error(transparent)]
    Kernel(#[from] NoOperation),
}
