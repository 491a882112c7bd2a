//! The submission queue ring.

use joulio_device::{Device, DmaArray, Doorbell};
use joulio_nvme_spec::Command;

pub(crate) struct SubmissionRing<D: Device> {
    entries: DmaArray<[u64; 8]>,
    tail: u16,
    /// The tail that the device knows.
    rung: u16,
    doorbell: D::Doorbell,
}

impl<D: Device> SubmissionRing<D> {
    pub(crate) fn new(entries: DmaArray<[u64; 8]>, doorbell: D::Doorbell) -> Self {
        SubmissionRing {
            entries,
            tail: 0,
            rung: 0,
            doorbell,
        }
    }

    /// Writes a command at the tail. The caller keeps fewer commands outstanding than there are
    /// entries, so that the tail never meets the head.
    #[inline]
    pub(crate) fn write(&mut self, command: Command) {
        self.entries
            .write(usize::from(self.tail), zerocopy::transmute!(command));
        self.tail += 1;
        if usize::from(self.tail) == self.entries.len() {
            self.tail = 0;
        }
    }

    /// Tells the device of everything written since the last time. The doorbell orders the
    /// entries before itself.
    #[inline]
    pub(crate) fn ring(&mut self) {
        if self.rung != self.tail {
            self.doorbell.ring(self.tail.into());
            self.rung = self.tail;
        }
    }
}
