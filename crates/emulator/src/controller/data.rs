//! The data pointer of a command: from PRPs or an SGL to checked pieces of memory.

use crate::guest::{GuestMemory, PAGE, Segment, Unmapped};
use joulio_nvme_spec::{Command, Psdt, SglDescriptor, Status};

/// Data pointer of a command.
#[derive(Clone, Copy, Debug)]
pub(super) enum DataPointer {
    /// PRP1 and PRP2.
    Prp(u64, u64),
    /// The first descriptor of an SGL.
    Sgl(SglDescriptor),
}

impl DataPointer {
    /// Returns the data pointer of `command`; `None` if it is of a kind that is not supported.
    #[inline]
    pub(super) fn of(command: &Command) -> Option<DataPointer> {
        match command.dword0().psdt() {
            Psdt::PRP => Some(DataPointer::Prp(command.prp1.get(), command.prp2.get())),
            Psdt::SGL => Some(DataPointer::Sgl(command.sgl())),
            // An SGL for metadata, which is not supported (SGLS bit 19 is clear).
            _ => None,
        }
    }
}

/// Walks data pointers, one command at a time, in buffers of its own that are reused.
#[derive(Debug)]
pub(super) struct DataWalker {
    pub(super) segments: Vec<Segment>,
    /// A page of a PRP list, or a piece of an SGL segment.
    pub(super) list: Box<[u8; PAGE as usize]>,
}

/// Data pointer that is not mapped: it may be when the command is sent again.
impl From<Unmapped> for Status {
    fn from(_: Unmapped) -> Status {
        Status::DATA_TRANSFER_ERROR
    }
}

impl DataWalker {
    pub(super) fn new() -> DataWalker {
        DataWalker {
            segments: Vec::with_capacity(32),
            list: Box::new([0; PAGE as usize]),
        }
    }

    /// Finds the `len` bytes at `data`; `len` is at least 1.
    #[inline]
    pub(super) fn find(
        &mut self,
        guest: &GuestMemory,
        data: DataPointer,
        len: u32,
    ) -> Result<&[Segment], Status> {
        match data {
            DataPointer::Prp(prp1, prp2) => self.walk(guest, prp1, prp2, len),
            DataPointer::Sgl(first) => self.walk_sgl(guest, first, len),
        }
    }

    /// Adds a segment, merged with the one before if it continues it.
    #[inline]
    pub(super) fn add(&mut self, segment: Segment) {
        let extended = self.segments.last_mut().map(|last| last.extend(segment));
        if extended != Some(true) {
            self.segments.push(segment);
        }
    }
}
