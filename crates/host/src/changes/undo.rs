//! A change that can be undone.

use super::error::ChangeError;
use crate::journal::{KnobChange, PutBackError, RecordedChange};
use crate::knobs::Knobs;

/// A change that can be made and put back.
pub trait Undo {
    /// Returns the record that is written into the journal before the change is made; `None` for a change that ends
    /// with this process anyway.
    fn record(&self) -> Option<RecordedChange>;

    /// Makes the change.
    ///
    /// # Errors
    /// The change cannot be made; it may have been in part.
    fn make(&self) -> Result<(), ChangeError>;

    /// Puts the old value back, and returns a line for each part that was left to somebody else.
    ///
    /// # Errors
    /// The old value could not be put back; that can be tried again.
    fn put_back(&self) -> Result<Vec<String>, PutBackError>;

    /// Undoes the part that a failed [`Undo::make`] has made.
    ///
    /// # Errors
    /// The old value could not be put back; that can be tried again.
    fn put_back_failed(&self) -> Result<Vec<String>, PutBackError> {
        self.put_back()
    }
}

impl Undo for KnobChange {
    fn record(&self) -> Option<RecordedChange> {
        Some(RecordedChange::Knob(self.clone()))
    }

    fn make(&self) -> Result<(), ChangeError> {
        Ok(Knobs::at(&self.root).make(&self.change)?)
    }

    fn put_back(&self) -> Result<Vec<String>, PutBackError> {
        Ok(KnobChange::put_back(self)?)
    }
}
