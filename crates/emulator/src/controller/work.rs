//! The work of I/O commands: how long it takes, how it counts, and the doing of it.

use super::Controller;
use super::in_service::Io;
use crate::namespace::Namespace;
use joulio_nvme_spec::{NvmOpcode, Status};
use joulio_units::{Direction, Nanos};

/// The work that an I/O command asks for.
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

impl Controller {
    /// The mean service time of `io`; the profile's figure.
    #[inline]
    pub(super) fn mean_service(&self, io: &Io) -> Nanos {
        let (direction, bytes) = io.load();
        self.service.mean(direction, bytes)
    }

    /// Counts an I/O that succeeded.
    #[inline]
    pub(super) fn count(&mut self, io: &Io, service: Nanos) {
        let activity = &mut self.activity;
        let (transfer, bytes) = match io.work {
            Work::Read | Work::Compare | Work::Verify => (&mut activity.read, io.len),
            Work::Write => (&mut activity.write, io.len),
            Work::Flush => (&mut activity.flush, 0),
            Work::WriteZeroes { .. } | Work::Dataset { .. } => (&mut activity.other, 0),
        };
        transfer.ios += 1;
        transfer.bytes += u64::from(bytes);
        transfer.service += service;
    }

    /// Does what an I/O asks for.
    #[inline]
    pub(super) fn work(&mut self, io: &Io) -> Result<(), Status> {
        match io.work {
            Work::Read | Work::Write | Work::Compare => self.move_data(io),
            Work::Flush => self.flush(io.nsid),
            Work::Verify => self.namespace(io).verify(io.position, io.len, io.through),
            Work::WriteZeroes { deallocate } => {
                let namespace = self.namespace(io);
                namespace.write_zeroes(io.position, io.len, deallocate, io.through)
            }
            Work::Dataset { deallocate } => self.manage(io, deallocate),
        }
    }

    #[inline]
    fn move_data(&mut self, io: &Io) -> Result<(), Status> {
        let namespace = &self.namespaces[io.nsid as usize - 1];
        let guest = &self.guest;
        let segments = self.walker.find(guest, io.data, io.len)?;
        match io.work {
            Work::Write => namespace.write(io.position, guest, segments, io.through),
            Work::Compare => namespace.compare(io.position, guest, segments, io.through),
            _ if guest.writable(segments) => {
                namespace.read(io.position, guest, segments, io.through)
            }
            _ => Err(Status::DATA_TRANSFER_ERROR),
        }
    }

    fn flush(&self, nsid: u32) -> Result<(), Status> {
        match self.namespace_index(nsid) {
            Some(index) => self.namespaces[index].flush(),
            None => self.namespaces.iter().try_for_each(|each| each.flush()),
        }
    }

    /// The namespace of an I/O that is checked and is not a flush.
    pub(super) fn namespace(&self, io: &Io) -> &Namespace {
        &self.namespaces[io.nsid as usize - 1]
    }
}
