//! An I/O that has passed its checks, and the work that it requests.

use super::data::DataPointer;
use joulio_nvme_spec::NvmOpcode;
use joulio_units::{Direction, Nanos};

/// The work that an I/O command requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Read,
    Write,
    Flush,
    /// The blocks are to be as the host's data is.
    Compare,
    /// The blocks are to be readable.
    Verify,
    WriteZeroes {
        /// DEAC: the blocks may be given up.
        deallocate: bool,
    },
    Dataset {
        /// AD: the ranges may be given up.
        deallocate: bool,
    },
}

/// Bytes of the write that Write Zeroes and Dataset Management are taken to be as slow as. A
/// guess: profiles say nothing of them, and devices do little more than write their map.
const MAP_WRITE: u32 = 4096;

impl Work {
    /// The work that `opcode` names, without the choices that its other words make.
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

/// An I/O that has passed its checks. Its data moves when it finishes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Io {
    pub(super) finish: Nanos,
    pub(super) sqid: u16,
    pub(super) cid: u16,
    /// The work that the command requests.
    pub(super) work: Work,
    /// A flush, forced unit access, or a write with the cache off, of a file that has a cache: it is
    /// synced before it is read, or when it is written.
    pub(super) through: bool,
    /// NSID; all ones flushes every namespace.
    pub(super) nsid: u32,
    /// Bytes to move, or to work on where none are moved; 0 for a flush.
    pub(super) len: u32,
    /// Offset in the namespace, in bytes.
    pub(super) position: u64,
    pub(super) data: DataPointer,
}

impl Io {
    /// The load for the service model: a read or a write of so many bytes, or a flush.
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
