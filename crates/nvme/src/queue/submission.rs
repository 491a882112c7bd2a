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

    /// Begins again with an empty ring, which the device has let go of.
    pub(crate) fn reset(&mut self) {
        self.tail = 0;
        self.rung = 0;
    }

    /// The commands that the device was not rung for yet, oldest first.
    pub(crate) fn unrung(&self) -> Vec<Command> {
        let entries = self.entries.len();
        let mut commands = Vec::new();
        let mut index = usize::from(self.rung);
        while index != usize::from(self.tail) {
            commands.push(zerocopy::transmute!(self.entries.read(index)));
            index = (index + 1) % entries;
        }
        commands
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

    /// Rings the doorbell for everything written since the last time; it orders the entries before
    /// itself. Number of commands.
    #[inline]
    pub(crate) fn ring(&mut self) -> u32 {
        if self.rung == self.tail {
            return 0;
        }
        let entries = self.entries.len() as u32;
        let commands = (u32::from(self.tail) + entries - u32::from(self.rung)) % entries;
        self.doorbell.ring(self.tail.into());
        self.rung = self.tail;
        commands
    }
}
