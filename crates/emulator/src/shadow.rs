//! Shadow doorbells (Base 5.8 and 8.6): the host writes doorbells to its memory, and the register only when the
//! controller has requested it.
//!
//! The controller requests that by EventIdx: the host writes the register when its doorbell passes
//! that value. Host and controller each write one word and then read the other's:
//!
//! | host | controller |
//! |---|---|
//! | writes the shadow | writes EventIdx, before it sleeps |
//! | *full fence* | *full fence* |
//! | reads EventIdx; passed: writes the register | reads the shadow; moved: does not sleep |
//!
//! The fence of the controller is the one in [`crate::bell::Bell::sleep`], between these two
//! ([`joulio_device::fence::dma_full`]).

use crate::bell::Side;
use joulio_device::SharedMemory;
use std::sync::Arc;

/// Returns the offset in bytes of a queue's doorbell after the first one, or in a page of shadows.
pub(crate) fn position(qid: u16, side: Side) -> usize {
    usize::from(qid) * 8 + side as usize * 4
}

/// A page in the host's memory.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// Address of the page, as the host gave it.
    pub(crate) address: u64,
    /// The host's memory, as mapped in this process.
    pub(crate) memory: Arc<SharedMemory>,
    /// Offset of the first byte in `memory`.
    pub(crate) offset: usize,
}

impl Page {
    fn load(&self, at: usize) -> u32 {
        u32::from_le(self.memory.load_u32(self.offset + at))
    }

    fn store(&self, at: usize, value: u32) {
        self.memory.store_u32(self.offset + at, value.to_le());
    }
}

/// The two pages of Doorbell Buffer Config.
#[derive(Clone, Debug)]
pub(crate) struct Shadow {
    doorbells: Page,
    events: Page,
}

impl Shadow {
    pub(crate) fn new(doorbells: Page, events: Page) -> Shadow {
        Shadow { doorbells, events }
    }

    /// Returns the doorbell's value in the host's memory. The host's earlier writes to memory are visible after it.
    #[inline]
    pub(crate) fn load(&self, qid: u16, side: Side) -> u32 {
        self.doorbells.load(position(qid, side))
    }

    /// Requests that the host writes the register when the doorbell moves on from `value`.
    pub(crate) fn request_ring(&self, qid: u16, side: Side, value: u32) {
        self.events.store(position(qid, side), value);
    }

    /// Sets the doorbell of a queue that begins to `value`.
    pub(crate) fn begin(&self, qid: u16, side: Side, value: u32) {
        self.doorbells.store(position(qid, side), value);
        self.request_ring(qid, side, value);
    }

    /// Returns the addresses of the pages.
    pub(crate) fn addresses(&self) -> [u64; 2] {
        [self.doorbells.address, self.events.address]
    }
}
