//! The journal: a file for each change that is not put back yet, written before the change, so that
//! whatever ends the process, a later one knows the old value.
//!
//! Two locks keep it whole. The directory is locked by whoever reads a setting to change it, or puts
//! one back, from the first read to the last write: nobody takes a value that another is about to
//! put back for the old one, and settings that go together are put back in one go. The file of an
//! entry is locked by the process that made the change as long as that runs and means to put it
//! back itself.

mod entry;
mod error;
mod folder;
mod locked;
mod restore;

pub use entry::{EntryError, JournalEntry, KnobChange, PutBackError, RecordedChange};
pub use error::{JournalError, TakeError};
pub use locked::{HeldEntry, LockedJournal};
pub use restore::{RestoreOutcome, restore_left};

use crate::state_folder;
use folder::Folder;
use std::path::{Path, PathBuf};

/// A journal, by its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal(PathBuf);

impl Journal {
    /// The user's journal: `journal` in the [`state_folder`].
    ///
    /// # Errors
    /// The environment names no place.
    pub fn of_user() -> Result<Journal, JournalError> {
        let state = state_folder().ok_or(JournalError::NoPlace)?;
        Ok(Journal(state.join("journal")))
    }

    /// The journal in `directory`, which must belong to the user alone once it is there.
    pub fn at(directory: impl Into<PathBuf>) -> Journal {
        Journal(directory.into())
    }

    /// Directory of the journal.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Locks the journal, once nobody else changes settings or puts them back. The directory is
    /// made where there is none.
    ///
    /// # Errors
    /// The directory is another user's or cannot be made, or another process does not come to an
    /// end.
    pub fn lock(&self) -> Result<LockedJournal, JournalError> {
        loop {
            let folder = Folder::create(&self.0)?;
            if folder.lock()? {
                return Ok(LockedJournal::new(folder));
            }
        }
    }

    /// Locks the journal; none where there is no directory, and so nothing to put back.
    ///
    /// # Errors
    /// The directory is another user's, or another process does not come to an end.
    pub fn lock_existing(&self) -> Result<Option<LockedJournal>, JournalError> {
        while let Some(folder) = Folder::open(&self.0)? {
            if folder.lock()? {
                return Ok(Some(LockedJournal::new(folder)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
