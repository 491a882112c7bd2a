//! What can go wrong with the journal.

use super::What;
use std::io;
use std::path::PathBuf;

/// A journal that cannot be used, or an entry that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Nothing says where it is.
    #[error("no place for the journal: set HOME or XDG_STATE_HOME")]
    NoPlace,
    /// A link or another file is in the place of its directory.
    #[error("journal: {}: a link or a file, where a directory of its own is wanted: remove it, or set XDG_STATE_HOME", path.display())]
    NoDirectory {
        /// Where.
        path: PathBuf,
    },
    /// Somebody else could write or remove entries.
    #[error("journal: {}: belongs to user {owner}, not to user {user} who runs this: remove it, or set XDG_STATE_HOME to a directory of your own", path.display())]
    Foreign {
        /// The directory or file.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Whose it should be.
        user: u32,
    },
    /// Everybody, or a group, could write or remove entries.
    #[error("journal: {}: others may write there (mode {mode:04o}): chmod go-w", path.display())]
    Exposed {
        /// The directory or file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The system refuses.
    #[error("journal: {}: {source}", path.display())]
    Io {
        /// The directory or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody changes settings, or puts them back, and does not come to an end.
    #[error("journal: {}: another joulio has been changing settings or putting them back for {seconds} s: wait for it, or end it", path.display())]
    Locked {
        /// Its directory.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
    /// A process that lives has changed it.
    #[error("{what}: another joulio has changed it and is to put it back: wait for it")]
    Busy {
        /// What is changed.
        what: Box<What>,
    },
    /// A process that lives has changed something that the kernel changes with it.
    #[error(
        "{what}: another joulio has changed {other}, which goes with it, and is to put that back: wait for it"
    )]
    Beside {
        /// What was to be changed.
        what: String,
        /// What is changed.
        other: Box<What>,
    },
    /// A file of the journal is not one of ours.
    #[error("journal: {}: {why}; see what it says, and remove it", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}
