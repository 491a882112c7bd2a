//! What can go wrong with a change.

use crate::failure::Failure;
use crate::journal::{JournalError, PutBackError, What};
use joulio_kernel_io::knobs::KnobError;
use joulio_nvme::NvmeError;

/// A change that could not be made, or not be put back.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// A setting of the kernel cannot be set.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// A feature of an NVMe controller cannot be set.
    #[error(transparent)]
    Device(#[from] NvmeError),
    /// It cannot be written down, and so is not made.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The same run has made it already.
    #[error("{0}: changed already by this run")]
    Twice(Box<What>),
    /// What a killed run has left cannot be put back.
    #[error("an earlier run's change is not put back yet: {0}: see `joulio restore`")]
    Left(String),
    /// It was made, and could not be put back.
    #[error("{0}; `joulio restore` tries again to put it back")]
    NotPutBack(PutBackError),
    /// It was made, and the journal cannot be had to put it back.
    #[error("settings are not put back: {0}; `joulio restore` puts them back")]
    Kept(JournalError),
    /// It is put back, and the journal says still that it is not.
    #[error("{0}: it is put back, but its entry stays: `joulio restore` removes it")]
    NotForgotten(JournalError),
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Failure {
        match error {
            ChangeError::NotPutBack(_) | ChangeError::Kept(_) | ChangeError::NotForgotten(_) => {
                Failure::run(error)
            }
            _ => Failure::input(error),
        }
    }
}
