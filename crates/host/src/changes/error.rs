//! Errors of changes.

use crate::journal::{JournalError, RecordedChange, RestoreError};
use crate::knobs::KnobError;
use joulio_nvme::NvmeError;

/// Reason why a change could not be made or restored.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The kernel does not have the setting, or refuses the value.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// The controller does not have the feature, or refuses the value.
    #[error(transparent)]
    Device(#[from] NvmeError),
    /// The controller did not answer, and may have made the change: its entry in the journal stays.
    #[error(
        "{source}; whether the feature was changed is not known: `joulio restore` sets {old} again"
    )]
    Unanswered {
        /// Error of the command.
        source: NvmeError,
        /// Feature with the value that it had before.
        old: String,
    },
    /// The change cannot be journaled, and so is not made.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The run has made the change already.
    #[error("{0}: changed already by this run")]
    Twice(Box<RecordedChange>),
    /// A change that a killed run has left cannot be restored: see `joulio restore`.
    #[error("an earlier run's change is not restored yet: {0}: see `joulio restore`")]
    Left(String),
    /// The change was made, and could not be restored: `joulio restore` tries again.
    #[error("not restored: {0}; `joulio restore` tries again")]
    NotRestored(RestoreError),
    /// Changes were made, and the journal cannot be locked to restore them: `joulio restore`
    /// does.
    #[error("settings are not restored: {0}; `joulio restore` restores them")]
    Kept(JournalError),
    /// The change is restored, but its entry in the journal remains: `joulio restore` removes it.
    #[error("{0}: the old value is restored, but its entry stays: `joulio restore` removes it")]
    NotForgotten(JournalError),
}

impl ChangeError {
    /// Whether a change was made, or may have been made, and could not be restored.
    pub fn leaves_changes(&self) -> bool {
        matches!(
            self,
            ChangeError::Unanswered { .. }
                | ChangeError::NotRestored(_)
                | ChangeError::Kept(_)
                | ChangeError::NotForgotten(_)
        )
    }

    /// Whether another process, which still runs, holds the setting: nothing is changed, and the change is possible
    /// when that process has ended.
    pub fn waits_for_another(&self) -> bool {
        matches!(
            self,
            ChangeError::Journal(
                JournalError::Locked { .. }
                    | JournalError::Busy { .. }
                    | JournalError::Beside { .. }
            )
        )
    }
}
