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
    /// A deallocation of a range: its data is lost.
    Trim,
    /// A flush of earlier writes and of the file's metadata: fsync(2).
    Sync,
    /// A flush of earlier writes and of the metadata needed to read them: fdatasync(2).
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

    /// Returns the direction of its data: a trim and a flush move none.
    #[inline]
    pub fn direction(self) -> Direction {
        match self {
            Operation::Read => Direction::Read,
            Operation::Write => Direction::Write,
            Operation::Trim | Operation::Sync | Operation::DataSync => Direction::Other,
        }
    }

    /// Whether it is a read or a write.
    #[inline]
    pub fn moves_data(self) -> bool {
        self.direction() != Direction::Other
    }

    /// Whether it is one of the two kinds of flush, which have no range.
    #[inline]
    pub fn is_sync(self) -> bool {
        matches!(self, Operation::Sync | Operation::DataSync)
    }

    /// Returns its name in fio's reports.
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
