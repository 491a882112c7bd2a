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
        let len = len.checked_next_multiple_of(DWORD)?;
        if len == 0 || u32::try_from(len).is_err() {
            return None;
        }
        let align = len.next_power_of_two().min(MAX_ALIGNMENT);
        let iova = self.home.lock().allocate(len, align)?;
        let offset = (iova.0 - self.memory.iova().0) as usize;
        let home = Some(Arc::clone(&self.home));
        let buffer = DmaBuffer::cut(&self.memory, offset, len, self.trusted, home);
        Some(buffer)
    }

    /// Length of the memory in bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.memory.memory().len()
    }
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

    /// Length of the memory in bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
