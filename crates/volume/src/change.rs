//! Changes of the directory, as the journal stores them.

use crate::VolumeError;
use crate::extent::Extent;
use serde::{Deserialize, Serialize};

/// Longest name of a file in bytes.
const MAX_NAME: usize = 255;

/// Identifier of a file, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct FileId(pub u64);

/// A change of the directory. The order of the variants is that of format 1: new ones come last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Change {
    /// Creates an empty file.
    Create {
        /// Identifier, greater than every one before.
        id: FileId,
        /// Name that no other file has.
        name: String,
    },
    /// Removes a file.
    Remove {
        /// Name of the file.
        name: String,
    },
    /// Renames a file, and removes the file that had the new name.
    Rename {
        /// Old name.
        from: String,
        /// New name.
        to: String,
    },
    /// Changes the size of a file.
    Resize {
        /// The file.
        id: FileId,
        /// Size in bytes.
        size: u64,
    },
    /// Appends units to a file.
    Extend {
        /// The file.
        id: FileId,
        /// Units that follow its last one.
        extent: Extent,
    },
    /// Removes the last units of a file.
    Shrink {
        /// The file.
        id: FileId,
        /// Number of units that remain.
        units: u64,
    },
}

impl Change {
    /// Refuses a change that a journal on a volume of `units` units cannot contain.
    ///
    /// # Errors
    /// A name is not valid, or units are not on the volume ([`VolumeError::Damaged`]).
    pub fn check(&self, units: u32) -> Result<(), VolumeError> {
        match self {
            Change::Create { name, .. } | Change::Rename { to: name, .. } => {
                check_name(name).map_err(|error| VolumeError::Damaged(error.to_string()))
            }
            Change::Extend { extent, .. }
                if extent.units == 0 || extent.end() > u64::from(units) =>
            {
                let Extent { start, units: more } = extent;
                let what = format!("a file has {more} units from {start}, of {units}");
                Err(VolumeError::Damaged(what))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses a text that cannot be the name of a file.
///
/// # Errors
/// The name is empty, too long, or has a NUL ([`VolumeError::Name`]).
pub(crate) fn check_name(name: &str) -> Result<(), VolumeError> {
    match name.len() {
        1..=MAX_NAME if !name.contains('\0') => Ok(()),
        len => Err(VolumeError::Name(len)),
    }
}
