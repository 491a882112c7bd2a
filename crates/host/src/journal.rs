//! The journal: a file for each change that is not restored yet, written before the change, so that however the process
//! ends, a later one knows the old value.
//!
//! Two locks keep it consistent. A process locks the directory while it reads a setting to change it, or restores one,
//! from the first read to the last write: so no process mistakes a value that another is about to restore for the old
//! one, and related settings are restored together. The process that made a change locks the entry's file as long as it
//! runs and is to restore the change itself.

mod entry;
mod error;
mod folder;
mod locked;
mod restore;

pub use entry::{EntryError, JournalEntry, KnobChange, RecordedChange, RestoreError};
pub use error::{JournalError, TakeError};
pub use locked::{HeldEntry, LockedJournal};
pub use restore::{RestoreOutcome, restore_left};

use crate::state_folder;
use folder::Folder;
use std::path::{Path, PathBuf};

/// A journal, identified by its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal(PathBuf);

impl Journal {
    /// Returns the user's journal: `journal` in the [`state_folder`].
    ///
    /// # Errors
    /// The environment names no directory for it.
    pub fn of_user() -> Result<Journal, JournalError> {
        let state = state_folder().ok_or(JournalError::NoPlace)?;
        Ok(Journal(state.join("journal")))
    }

    /// Makes the journal of `directory`, which must belong to the user alone once it exists.
    pub fn at(directory: impl Into<PathBuf>) -> Journal {
        Journal(directory.into())
    }

    /// Returns the directory of the journal.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Locks the journal, after waiting until nobody else changes settings or restores them. Creates the directory if
    /// it does not exist.
    ///
    /// # Errors
    /// The directory is another user's or cannot be made, or another process keeps the lock too long.
    pub fn lock(&self) -> Result<LockedJournal, JournalError> {
        loop {
            let folder = Folder::create(&self.0)?;
            if folder.lock()? {
                return Ok(LockedJournal::new(folder));
            }
        }
    }

    /// Locks the journal; `None` if there is no directory, and so nothing to restore.
    ///
    /// # Errors
    /// The directory is another user's, or another process keeps the lock too long.
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
