//! The work of I/O commands: its time, its counters, and its execution.

use super::EmulatedController;
use super::checked_io::{Io, Work};
use crate::namespace::Namespace;
use joulio_nvme_spec::Status;
use joulio_units::Nanos;

impl EmulatedController {
    /// Returns the mean service time of `io` by the profile.
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

    /// Transfers the data of an I/O.
    #[inline]
    pub(super) fn work(&mut self, io: &Io) -> Result<(), Status> {
        match io.work {
            Work::Read | Work::Write | Work::Compare => {
                if let Some(host_memory) = &mut self.host_memory {
                    host_memory.look_up(io, &self.guest, &mut self.activity)?;
                }
                self.move_data(io)
            }
            // A flush of namespaces without a cache; with one, the sync is all there is to do.
            Work::Flush => Ok(()),
            Work::Verify => self.namespace(io).verify(io.position, io.len),
            Work::WriteZeroes { deallocate } => {
                let namespace = self.namespace(io);
                namespace.write_zeroes(io.position, io.len, deallocate)
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
            Work::Write => namespace.write(io.position, guest, segments),
            Work::Compare => namespace.compare(io.position, guest, segments),
            _ if guest.writable(segments) => namespace.read(io.position, guest, segments),
            _ => Err(Status::DATA_TRANSFER_ERROR),
        }
    }

    /// Returns the namespace of an I/O that was checked and is not a flush.
    pub(super) fn namespace(&self, io: &Io) -> &Namespace {
        &self.namespaces[io.nsid as usize - 1]
    }
}
