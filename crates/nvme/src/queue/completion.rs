//! The completion queue ring.

use joulio_device::{Device, DmaArray, Doorbell};
use joulio_nvme_spec::Completion;
use joulio_wait::CacheLine;
use zerocopy::little_endian::{U16, U32};

pub(crate) struct CompletionRing<D: Device> {
    entries: DmaArray<[u32; 4]>,
    head: u16,
    /// The phase tag of entries not yet read in this pass.
    phase: bool,
    doorbell: D::Doorbell,
}

impl<D: Device> CompletionRing<D> {
    pub(crate) fn new(entries: DmaArray<[u32; 4]>, doorbell: D::Doorbell) -> Self {
        CompletionRing {
            entries,
            head: 0,
            phase: true,
            doorbell,
        }
    }

    /// Begins again with an empty ring, which the device has let go of.
    pub(crate) fn reset(&mut self) {
        for index in 0..self.entries.len() {
            self.entries.write(index, [0; 4]);
        }
        self.head = 0;
        self.phase = true;
    }

    /// Dword 3 of the entry at the head, if the device has written it. Acquire: what the device
    /// wrote before it (the rest of the entry, the data of the command) is visible after.
    #[inline]
    fn dword3(&self) -> Option<u32> {
        let word = self
            .entries
            .load_word(usize::from(self.head), Completion::DWORD3);
        let word = u32::from_le(word);
        ((word >> 16) & 1 == u32::from(self.phase)).then_some(word)
    }

    /// The cache line of the entry at the head: four entries share one, so that the device's write
    /// of the next wakes who watches it.
    pub(crate) fn cache_line(&self) -> CacheLine<'_> {
        self.entries.cache_line(usize::from(self.head))
    }

    /// Reports whether a completion is there.
    #[inline]
    pub(crate) fn ready(&self) -> bool {
        self.dword3().is_some()
    }

    /// Reads the entry at the head and goes past it.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Completion> {
        let dword3 = self.dword3()?;
        let [dw0, dw1, dw2, _] = self.entries.read(usize::from(self.head));
        self.head += 1;
        if usize::from(self.head) == self.entries.len() {
            self.head = 0;
            self.phase = !self.phase;
        }
        let dw2 = u32::from_le(dw2);
        // Dword 3 is the one that was checked: a second read could differ.
        Some(Completion {
            dw0: U32::from_bytes(dw0.to_ne_bytes()),
            dw1: U32::from_bytes(dw1.to_ne_bytes()),
            sqhd: U16::new(dw2 as u16),
            sqid: U16::new((dw2 >> 16) as u16),
            cid: U16::new(dword3 as u16),
            status: U16::new((dword3 >> 16) as u16),
        })
    }

    /// Gives the entries read since the last time back to the device.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.doorbell.ring(self.head.into());
    }
}
