//! Errors of the journal.

use super::entry::{EntryError, RecordedChange};
use joulio_kernel_io::LockHolder;
use std::io;
use std::path::PathBuf;

/// Reason why a journal cannot be used, or an entry cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The environment names no directory for it: set HOME or XDG_STATE_HOME.
    #[error("no place for the journal: set HOME or XDG_STATE_HOME")]
    NoPlace,
    /// A link or another file has the name of its directory: remove it.
    #[error("journal: {}: a link or a file, and not a directory: remove it, or set XDG_STATE_HOME", path.display())]
    NoDirectory {
        /// Path of the link or file.
        path: PathBuf,
    },
    /// Another user owns it and could write or remove entries: remove it.
    #[error("journal: {}: belongs to user {owner}, not to user {user} who runs this: remove it, or set XDG_STATE_HOME to a directory of your own", path.display())]
    Foreign {
        /// Path of the directory or file.
        path: PathBuf,
        /// User who owns it.
        owner: u32,
        /// User who should own it.
        user: u32,
    },
    /// Everybody, or a group, could write or remove entries: take that permission away.
    #[error("journal: {}: others may write there (mode {mode:04o}): chmod go-w", path.display())]
    Exposed {
        /// Path of the directory or file.
        path: PathBuf,
        /// Permissions of it.
        mode: u32,
    },
    /// The system refuses.
    #[error("journal: {}: {source}", path.display())]
    Io {
        /// Path of the directory or file.
        path: PathBuf,
        /// Reason that the system gives.
        source: io::Error,
    },
    /// Another process changes settings, or restores them, and keeps the lock: wait for it, or end it.
    #[error("journal: {}: {holder} has been changing settings or restoring them for {seconds} s: wait for it, or end it", path.display())]
    Locked {
        /// Directory of the journal.
        path: PathBuf,
        /// Seconds waited for the lock.
        seconds: u64,
        /// Process that has the journal locked.
        holder: LockHolder,
    },
    /// Another process, which still runs, has changed the same setting: wait for it.
    #[error("{change}: {holder} has changed it and will restore it: wait until it has ended")]
    Busy {
        /// Change of the other process.
        change: Box<RecordedChange>,
        /// The other process.
        holder: LockHolder,
    },
    /// Another process, which still runs, has changed a setting that the kernel changes with this one: wait for it.
    #[error(
        "{wanted}: {holder} has changed {other}, which it depends on, and will restore that: wait until it has ended"
    )]
    Beside {
        /// Setting to be changed.
        wanted: String,
        /// Change of the other process.
        other: Box<RecordedChange>,
        /// The other process.
        holder: LockHolder,
    },
    /// A file of the journal is no entry: read it, and remove it.
    #[error("journal: {}: {source}; see what it says, and remove it", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Reason why it is no entry.
        source: EntryError,
    },
}

/// Reason why an entry could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// The process that made the change still runs, and is to restore it itself.
    #[error("{}: {holder} made this change, is still running and will restore it", path.display())]
    Busy {
        /// Path of the entry.
        path: PathBuf,
        /// Process that made the change.
        holder: LockHolder,
    },
    /// The file is no entry, or could not be read.
    #[error(transparent)]
    Unreadable(#[from] JournalError),
}
