//! The submission queue ring.

use joulio_device::{Device, DmaArray, DmaRing, Doorbell};
use joulio_nvme_spec::Command;

pub(crate) struct SubmissionRing<D: Device> {
    /// Submission queue entries, with the tail as position.
    ring: DmaRing<[u64; 8]>,
    /// The tail that the device knows.
    rung: usize,
    doorbell: D::Doorbell,
}

impl<D: Device> SubmissionRing<D> {
    pub(crate) fn new(entries: DmaArray<[u64; 8]>, doorbell: D::Doorbell) -> Self {
        SubmissionRing {
            ring: DmaRing::new(entries),
            rung: 0,
            doorbell,
        }
    }

    /// Empties the ring, which the device no longer uses.
    pub(crate) fn reset(&mut self) {
        self.ring.restart();
        self.rung = 0;
    }

    /// Returns the commands for which the doorbell was not rung yet, the oldest first.
    pub(crate) fn unrung(&self) -> Vec<Command> {
        let entries = self.ring.len();
        let indices = (0..self.pending() as usize).map(|nth| (self.rung + nth) % entries);
        let commands = indices.map(|index| zerocopy::transmute!(self.ring.array().read(index)));
        commands.collect()
    }

    /// Returns the number of commands for which the doorbell was not rung yet.
    pub(crate) fn pending(&self) -> u32 {
        let entries = self.ring.len();
        ((self.ring.index() + entries - self.rung) % entries) as u32
    }

    /// Writes a command at the tail. The caller keeps fewer commands outstanding than there are
    /// entries, so that the tail never meets the head.
    #[inline]
    pub(crate) fn write(&mut self, command: Command) {
        self.ring.write(zerocopy::transmute!(command));
        self.ring.advance();
    }

    /// Rings the doorbell for everything written since the last call; the doorbell write orders the entries before
    /// itself.
    #[inline]
    pub(crate) fn ring(&mut self) {
        let tail = self.ring.index();
        if self.rung != tail {
            self.rung = tail;
            self.doorbell.ring(tail as u32);
        }
    }
}
