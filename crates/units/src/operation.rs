//! The operation of an I/O.

use crate::Direction;

/// Operation of an I/O, as fio distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Operation {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A range given back to the device: its data is lost.
    Trim,
    /// A flush of what was written before, and of what describes it: fsync(2).
    Sync,
    /// A flush of what was written before, and of as much as it takes to read it: fdatasync(2).
    DataSync,
}

impl Operation {
    /// All operations.
    pub const ALL: [Operation; 5] = [
        Operation::Read,
        Operation::Write,
        Operation::Trim,
        Operation::Sync,
        Operation::DataSync,
    ];

    /// Direction of its data: a trim and a flush move none.
    #[inline]
    pub fn direction(self) -> Direction {
        match self {
            Operation::Read => Direction::Read,
            Operation::Write => Direction::Write,
            Operation::Trim | Operation::Sync | Operation::DataSync => Direction::Other,
        }
    }

    /// True of a read or a write.
    #[inline]
    pub fn moves_data(self) -> bool {
        self.direction() != Direction::Other
    }

    /// True of both kinds of flush, which have no range.
    #[inline]
    pub fn is_sync(self) -> bool {
        matches!(self, Operation::Sync | Operation::DataSync)
    }

    /// Name, as fio's reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Trim => "trim",
            Operation::Sync => "sync",
            Operation::DataSync => "datasync",
        }
    }
}
