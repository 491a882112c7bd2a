//! The end of a controller that a reset does not help, and its reason.

use crate::NvmeError;

/// Number of resets of a controller so far, and its end if it came to one.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    pub(super) resets: u64,
    /// Number of resets that needed a reset of the whole function.
    pub(super) function_resets: u64,
    pub(super) dead: Option<Death>,
}

impl Recovery {
    pub(super) fn death(&self) -> Option<&Death> {
        self.dead.as_ref()
    }
}

/// Why a controller is used no more.
#[derive(Clone, Debug)]
pub(super) struct Death {
    cause: Cause,
    /// True if the controller was seen to stop using memory, or is gone from the bus.
    pub(super) released: bool,
}

#[derive(Clone, Debug)]
enum Cause {
    Removed,
    RemovalRequested,
    Cancelled(String),
    ResetFailed(String),
}

impl Death {
    pub(super) fn new(error: &NvmeError, released: bool) -> Death {
        let cause = match error {
            NvmeError::Removed { .. } => Cause::Removed,
            NvmeError::RemovalRequested { .. } => Cause::RemovalRequested,
            NvmeError::Cancelled { what, .. } => Cause::Cancelled(what.clone()),
            other => Cause::ResetFailed(other.to_string()),
        };
        Death {
            released: released || matches!(cause, Cause::Removed),
            cause,
        }
    }

    /// Returns the end of a controller that is present but cannot be used because of `error`.
    pub(super) fn useless(error: &NvmeError, released: bool) -> Death {
        Death {
            cause: Cause::ResetFailed(error.to_string()),
            released,
        }
    }

    pub(super) fn error(&self, device: &str) -> NvmeError {
        let device = device.into();
        match &self.cause {
            Cause::Removed => NvmeError::Removed { device },
            Cause::RemovalRequested => NvmeError::RemovalRequested { device },
            Cause::Cancelled(what) => NvmeError::Cancelled {
                device,
                what: what.clone(),
            },
            Cause::ResetFailed(reason) => NvmeError::ResetFailed {
                device,
                reason: reason.clone(),
            },
        }
    }
}
