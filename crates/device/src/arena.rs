//! Arenas: one memory, mapped for the device once, and many buffers of any size out of it.

use crate::{DmaBuffer, DmaMemory, Iova, IovaSpace, TrustedBuffer, TrustedMemory};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Alignment in bytes of a buffer that is a page or more: a page, so that it takes the fewest data
/// pointers; a smaller one stays within a page.
const MAX_ALIGNMENT: usize = crate::iova::PAGE;
/// Smallest piece in bytes: a dword.
const DWORD: usize = 4;

/// One DMA memory, from which buffers of any size are taken. A buffer that is dropped goes back; the
/// memory lives until the arena and its last buffer are gone. A clone is the same arena.
///
/// Dropping a buffer, as taking one, takes a lock: for the path of an I/O keep buffers.
#[derive(Clone)]
pub struct Arena {
    memory: Arc<DmaMemory>,
    home: Arc<Home>,
    trusted: bool,
}

/// Ranges of an arena that no buffer has.
pub(crate) struct Home(Mutex<IovaSpace>);

impl Home {
    /// Takes back the range of a buffer that is gone.
    pub(crate) fn take_back(&self, iova: Iova, len: usize) {
        self.lock().free(iova, len);
    }

    fn lock(&self) -> MutexGuard<'_, IovaSpace> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Arena {
    /// Makes an arena of `memory`.
    pub fn new(memory: DmaMemory) -> Arena {
        Arena::of(memory, false)
    }

    fn of(memory: DmaMemory, trusted: bool) -> Arena {
        let first = memory.iova().0;
        let last = first + memory.memory().len() as u64 - 1;
        Arena {
            memory: Arc::new(memory),
            home: Arc::new(Home(Mutex::new(IovaSpace::new([first..=last])))),
            trusted,
        }
    }

    /// Takes a buffer of `len` bytes, rounded up to a dword; none where the arena has no room for it,
    /// or `len` is 0. It begins at a multiple of its length, rounded up to a power of two, of at most a page.
    pub fn take(&self, len: usize) -> Option<DmaBuffer> {
        let len = whole_dwords(len)?;
        let align = len.next_power_of_two().min(MAX_ALIGNMENT);
        let iova = self.home.lock().allocate(len, align)?;
        Some(self.buffer(iova, len))
    }

    /// Takes the buffer of `len` bytes, rounded up to a dword, at `offset` of the memory, a multiple of 4;
    /// none where some of them are taken or not there, or `len` is 0.
    pub fn take_at(&self, offset: usize, len: usize) -> Option<DmaBuffer> {
        let len = whole_dwords(len)?;
        if !offset.is_multiple_of(DWORD) || offset > self.len() {
            return None;
        }
        let at = self.memory.iova().offset(offset);
        let iova = self.home.lock().allocate_at(at, len)?;
        Some(self.buffer(iova, len))
    }

    /// The buffer of `len` bytes at `iova`, which was taken.
    fn buffer(&self, iova: Iova, len: usize) -> DmaBuffer {
        let offset = (iova.0 - self.memory.iova().0) as usize;
        let home = Some(Arc::clone(&self.home));
        DmaBuffer::cut(&self.memory, offset, len, self.trusted, home)
    }

    /// Length of the memory in bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.memory.memory().len()
    }
}

/// Length in bytes of a buffer for `len` bytes.
fn whole_dwords(len: usize) -> Option<usize> {
    let len = len.checked_next_multiple_of(DWORD)?;
    (len > 0 && u32::try_from(len).is_ok()).then_some(len)
}

/// [`Arena`] of memory of a trusted device: its buffers are slices.
#[derive(Clone)]
pub struct TrustedArena(Arena);

impl TrustedArena {
    /// Makes an arena of `memory`.
    pub fn new(memory: TrustedMemory) -> TrustedArena {
        TrustedArena(Arena::of(memory.into_inner(), true))
    }

    /// Takes a buffer as [`Arena::take`] does.
    pub fn take(&self, len: usize) -> Option<TrustedBuffer> {
        self.0.take(len).map(TrustedBuffer::of)
    }

    /// Takes the buffer at a place of the memory, as [`Arena::take_at`] does.
    pub fn take_at(&self, offset: usize, len: usize) -> Option<TrustedBuffer> {
        self.0.take_at(offset, len).map(TrustedBuffer::of)
    }

    /// Length of the memory in bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
