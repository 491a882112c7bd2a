//! Changes of the directory, as the journal has them.

use crate::extent::Extent;
use serde::{Deserialize, Serialize};

/// Identifier of a file, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct FileId(pub u64);

/// A change of the directory. The order is that of format 1: new ones come last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Change {
    /// A new, empty file.
    Create {
        /// Identifier, larger than every one before.
        id: FileId,
        /// Name that no other file has.
        name: String,
    },
    /// A file is no more.
    Remove {
        /// Its name.
        name: String,
    },
    /// A file has another name, and the file that had it is no more.
    Rename {
        /// Name until now.
        from: String,
        /// New name.
        to: String,
    },
    /// A file has another size.
    Resize {
        /// The file.
        id: FileId,
        /// Size in bytes.
        size: u64,
    },
    /// A file has more units.
    Extend {
        /// The file.
        id: FileId,
        /// Units that follow its last.
        extent: Extent,
    },
    /// A file has fewer units.
    Shrink {
        /// The file.
        id: FileId,
        /// Number of units that are left.
        units: u64,
    },
}
