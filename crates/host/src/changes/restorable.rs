//! A change that can be restored.

use super::error::ChangeError;
use crate::journal::{KnobChange, RecordedChange, RestoreError};
use crate::knobs::Knobs;

/// A change that can be made and restored.
pub trait Restorable {
    /// Returns the record that is written into the journal before the change is made; `None` for a change that ends
    /// with this process anyway.
    fn record(&self) -> Option<RecordedChange>;

    /// Makes the change.
    ///
    /// # Errors
    /// The change cannot be made; it may have been in part.
    fn make(&self) -> Result<(), ChangeError>;

    /// Restores the old value, and returns a line for each part that was left to somebody else.
    ///
    /// # Errors
    /// The old value could not be restored; that can be tried again.
    fn restore(&self) -> Result<Vec<String>, RestoreError>;

    /// Restores the part that a failed [`Restorable::make`] has changed.
    ///
    /// # Errors
    /// The old value could not be restored; that can be tried again.
    fn restore_after_failure(&self) -> Result<Vec<String>, RestoreError> {
        self.restore()
    }
}

impl Restorable for KnobChange {
    fn record(&self) -> Option<RecordedChange> {
        Some(RecordedChange::Knob(self.clone()))
    }

    fn make(&self) -> Result<(), ChangeError> {
        Ok(Knobs::at(&self.root).make(&self.change)?)
    }

    fn restore(&self) -> Result<Vec<String>, RestoreError> {
        Ok(KnobChange::restore(self)?)
    }
}
