//! Dataset Management (NVM 3.2.3).

use super::EmulatedController;
use super::checked_io::Io;
use joulio_nvme_spec::{DsmRange, Status};
use zerocopy::{FromZeros, IntoBytes};

impl EmulatedController {
    /// Reads the ranges and, when `deallocate`, deallocates them: all of them, or none if one is not inside the
    /// namespace. Context attributes, and hints of what will be read or written as one, have no effect.
    pub(super) fn manage(&mut self, io: &Io, deallocate: bool) -> Result<(), Status> {
        let mut ranges = [DsmRange::new_zeroed(); DsmRange::MAX];
        let ranges = &mut ranges[..io.len as usize / size_of::<DsmRange>()];
        let segments = self.walker.find(&self.guest, io.data, io.len)?;
        self.guest.gather(segments, ranges.as_mut_bytes());
        // The host may write its ranges meanwhile: they are copied, so that the checked ranges are the ones used.
        let namespace = self.namespace(io);
        let inside = |range: &DsmRange| {
            let (slba, blocks) = (range.slba.get(), range.blocks.get());
            blocks == 0 || namespace.position(slba, blocks).is_some()
        };
        if !ranges.iter().all(inside) {
            return Err(Status::LBA_OUT_OF_RANGE.do_not_retry());
        }
        if deallocate {
            namespace.deallocate(ranges)?;
        }
        Ok(())
    }
}
