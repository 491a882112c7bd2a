//! The completion queue ring.

use joulio_device::{Device, DmaArray, DmaRing, Doorbell, fence};
use joulio_nvme_spec::{CommandId, CompletionEntry, QueueId, Status};
use joulio_wait::CacheLine;

/// Dword 3 of an entry: the command's identifier, the phase tag and the status.
const DWORD3: usize = CompletionEntry::DWORD3;
/// The phase tag in dword 3.
const PHASE: u32 = 1 << 16;

/// Dword 3 of an entry that the device has posted. Read once: a second read could differ.
#[derive(Clone, Copy)]
pub(crate) struct Posted(u32);

impl Posted {
    /// CID.
    #[inline]
    pub(crate) fn command_id(self) -> CommandId {
        CommandId(self.0 as u16)
    }

    /// The status field without the phase tag.
    #[inline]
    pub(crate) fn status(self) -> Status {
        Status::from_field((self.0 >> 17) as u16)
    }
}

pub(crate) struct CompletionRing<D: Device> {
    /// Entries of 16 bytes, as words of 64 bits: dwords 0 and 1 are loaded together.
    ring: DmaRing<[u64; 2]>,
    /// The phase tag of entries not yet read in this pass, in its place.
    phase: u32,
    doorbell: D::Doorbell,
}

impl<D: Device> CompletionRing<D> {
    pub(crate) fn new(entries: DmaArray<[u64; 2]>, doorbell: D::Doorbell) -> Self {
        CompletionRing {
            ring: DmaRing::new(entries),
            phase: PHASE,
            doorbell,
        }
    }

    /// Empties the ring, which the device no longer uses.
    pub(crate) fn reset(&mut self) {
        for index in 0..self.ring.len() {
            self.ring.array().write(index, [0; 2]);
        }
        self.ring.restart();
        self.phase = PHASE;
    }

    /// Returns the completion that the device has posted at the head, if there is one. What the device wrote before
    /// it (the rest of the entry, the data of the command) is visible afterwards.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Posted> {
        let word = u32::from_le(self.ring.load_word::<DWORD3>());
        fence::dma_read();
        (word & PHASE == self.phase).then_some(Posted(word))
    }

    /// Returns the cache line of the entry at the head. Four entries share a line, so that the device's write of the
    /// next entry wakes a core that monitors it.
    pub(crate) fn cache_line(&self) -> CacheLine<'_> {
        self.ring.cache_line()
    }

    /// Reports whether a completion is there.
    #[inline]
    pub(crate) fn ready(&self) -> bool {
        self.peek().is_some()
    }

    /// Reads the rest of the posted entry at the head and advances past it; returns the queue of the command, and
    /// its result: dword 0, and above it dword 1.
    #[inline]
    pub(crate) fn take(&mut self) -> (QueueId, u64) {
        let rest = self.rest();
        self.pass();
        rest
    }

    /// Reads the rest of the entry at the head, as [`CompletionRing::take`].
    #[inline]
    pub(crate) fn rest(&self) -> (QueueId, u64) {
        let result = u64::from_le(self.ring.load_long_word::<0>());
        let dw2 = u32::from_le(self.ring.load_word::<8>());
        (QueueId((dw2 >> 16) as u16), result)
    }

    /// Goes past the entry at the head.
    #[inline]
    pub(crate) fn pass(&mut self) {
        if self.ring.advance() {
            self.phase ^= PHASE;
        }
    }

    /// Gives the entries read since the last call back to the device; the doorbell write orders their loads before
    /// itself.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.doorbell.ring(self.ring.index() as u32);
    }
}
