//! An I/O whose command has passed its checks, and the work that it requests.

use super::data::DataPointer;
use joulio_nvme_spec::NvmOpcode;
use joulio_units::{Direction, Nanos};

/// The work that an I/O command requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Read,
    Write,
    Flush,
    /// Compares the blocks with the host's data.
    Compare,
    /// Verifies that the blocks can be read.
    Verify,
    WriteZeroes {
        /// DEAC: whether the blocks may be deallocated.
        deallocate: bool,
    },
    Dataset {
        /// AD: whether the ranges are to be deallocated.
        deallocate: bool,
    },
}

/// Bytes of a write whose service time Write Zeroes and Dataset Management are given. A guess: profiles do not have
/// them, and devices do little more than write their map.
const MAP_WRITE: u32 = 4096;

impl Work {
    /// Returns the work of `opcode`, with the options of other fields at their defaults.
    #[inline]
    pub(super) fn of(opcode: NvmOpcode) -> Option<Work> {
        let deallocate = false;
        Some(match opcode {
            NvmOpcode::READ => Work::Read,
            NvmOpcode::WRITE => Work::Write,
            NvmOpcode::FLUSH => Work::Flush,
            NvmOpcode::COMPARE => Work::Compare,
            NvmOpcode::VERIFY => Work::Verify,
            NvmOpcode::WRITE_ZEROES => Work::WriteZeroes { deallocate },
            NvmOpcode::DATASET_MANAGEMENT => Work::Dataset { deallocate },
            _ => return None,
        })
    }

    /// Whether the work changes blocks.
    #[inline]
    pub(super) fn writes(self) -> bool {
        matches!(
            self,
            Work::Write | Work::WriteZeroes { .. } | Work::Dataset { .. }
        )
    }
}

/// An I/O whose command has passed its checks. Its data is transferred when it finishes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Io {
    pub(super) finish: Nanos,
    pub(super) sqid: u16,
    pub(super) cid: u16,
    /// The work that the command requests.
    pub(super) work: Work,
    /// Whether a sync is needed: of a flush, forced unit access, or a write with the cache off, of a file that has a
    /// cache. A read is synced before it is done, a write after.
    pub(super) through: bool,
    /// NSID; all ones to flush every namespace.
    pub(super) nsid: u32,
    /// Bytes to transfer, or to work on where none are transferred; 0 for a flush.
    pub(super) len: u32,
    /// Offset in the namespace, in bytes.
    pub(super) position: u64,
    pub(super) data: DataPointer,
}

impl Io {
    /// Returns the load for the service model: a read or a write of so many bytes, or a flush.
    #[inline]
    pub(super) fn load(&self) -> (Direction, u32) {
        match self.work {
            Work::Read | Work::Compare | Work::Verify => (Direction::Read, self.len),
            Work::Write => (Direction::Write, self.len),
            Work::Flush => (Direction::Other, 0),
            Work::WriteZeroes { .. } | Work::Dataset { .. } => (Direction::Write, MAP_WRITE),
        }
    }
}
