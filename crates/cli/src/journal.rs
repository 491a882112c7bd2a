//! What was changed and is not put back yet: a file for each, written before the change, so that
//! whatever ends this command, `joulio restore` knows the old value.
//!
//! Two locks keep it whole. The directory is locked by whoever looks what a setting is, changes it
//! or puts it back, from the first look to the last word about it: nobody takes a value that
//! another is about to put back for the old one, and settings that go together are put back in one
//! go. The file of an entry is locked by the process that made the change as long as that lives
//! and means to put it back itself.

mod entry;
mod error;
mod folder;
mod left;
mod locked;

pub use entry::{Entry, KnobChange, PutBackError, What};
pub use error::JournalError;
pub use left::{Restored, put_back_left};
pub use locked::{Held, Locked, Untaken};

use folder::Folder;
use rustix::process::geteuid;
use std::path::{Path, PathBuf};

/// The directory of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal(PathBuf);

impl Journal {
    /// Where it is: `$XDG_STATE_HOME/joulio/journal`; without that /var/lib/joulio/journal for
    /// root and ~/.local/state/joulio/journal for others.
    ///
    /// # Errors
    /// The environment does not say.
    pub fn place() -> Result<Journal, JournalError> {
        let variable = |name: &str| {
            let value = std::env::var_os(name).map(PathBuf::from);
            value.filter(|path| path.is_absolute())
        };
        let state = match variable("XDG_STATE_HOME") {
            Some(state) => state,
            None if geteuid().is_root() => "/var/lib".into(),
            None => variable("HOME")
                .map(|home| home.join(".local/state"))
                .ok_or(JournalError::NoPlace)?,
        };
        Ok(Journal(state.join("joulio/journal")))
    }

    /// That in `directory`.
    #[cfg(test)]
    pub fn at(directory: impl Into<PathBuf>) -> Journal {
        Journal(directory.into())
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Waits until nobody else changes settings or puts them back, and keeps everybody from it
    /// until what it returns is dropped. The directory is made where there is none.
    ///
    /// # Errors
    /// The directory is not one's own or cannot be made, or another process does not come to an end.
    pub fn lock(&self) -> Result<Locked, JournalError> {
        loop {
            let folder = Folder::create(&self.0)?;
            if folder.lock()? {
                return Ok(Locked::new(folder));
            }
        }
    }

    /// The same; none where there is no directory, and so nothing to put back.
    ///
    /// # Errors
    /// As of [`Journal::lock`].
    pub fn lock_existing(&self) -> Result<Option<Locked>, JournalError> {
        while let Some(folder) = Folder::open(&self.0)? {
            if folder.lock()? {
                return Ok(Some(Locked::new(folder)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
