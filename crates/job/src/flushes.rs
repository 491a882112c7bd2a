//! Flushes between and after a job's writes.

use serde::{Deserialize, Serialize};

/// Flushes of a job on each of its devices, as fio's options of these names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flushes {
    /// Writes after which the device is flushed, data and metadata; 0: none.
    pub fsync: u32,
    /// Writes after which the device is flushed, data alone; 0: none.
    pub fdatasync: u32,
    /// True if the device is flushed after the last write.
    pub end_fsync: bool,
}

impl Flushes {
    /// True if there is a flush of either kind.
    pub fn any(self) -> bool {
        self != Flushes::default()
    }
}
