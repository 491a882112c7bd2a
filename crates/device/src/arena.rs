//! Arenas: one memory, mapped for the device once, from which many buffers of any size are allocated.

use crate::{DmaBuffer, DmaMemory, Iova, IovaSpace, TrustedBuffer, TrustedMemory};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Alignment in bytes of a buffer of a page or more: a page, so that it needs the fewest data pointers. A smaller
/// buffer does not cross a page boundary.
const MAX_ALIGNMENT: usize = crate::iova::PAGE;
/// Smallest allocation in bytes: a dword.
const DWORD: usize = 4;

/// A DMA memory from which buffers of any size are allocated. A buffer returns to it when dropped; the memory lives
/// until the arena and its last buffer are gone. Clones share one arena.
///
/// Allocating and dropping a buffer each take a lock: on the path of an I/O keep buffers instead.
#[derive(Clone)]
pub struct Arena {
    memory: Arc<DmaMemory>,
    home: Arc<Home>,
    trusted: bool,
}

/// The free ranges of an arena.
pub(crate) struct Home(Mutex<IovaSpace>);

impl Home {
    /// Returns the byte range of a dropped buffer to the arena.
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

    /// Allocates a buffer of `len` bytes, rounded up to a dword; `None` when the arena has no room for it, or `len` is
    /// 0. The buffer is aligned to its length rounded up to a power of two, at most to a page.
    pub fn take(&self, len: usize) -> Option<DmaBuffer> {
        let len = whole_dwords(len)?;
        let align = len.next_power_of_two().min(MAX_ALIGNMENT);
        let iova = self.home.lock().allocate(len, align)?;
        Some(self.buffer(iova, len))
    }

    /// Allocates the buffer of `len` bytes, rounded up to a dword, at `offset` of the memory, a multiple of 4; `None`
    /// when a part of that range is in use or outside the memory, or `len` is 0.
    pub fn take_at(&self, offset: usize, len: usize) -> Option<DmaBuffer> {
        let len = whole_dwords(len)?;
        if !offset.is_multiple_of(DWORD) || offset > self.len() {
            return None;
        }
        let at = self.memory.iova().offset(offset);
        let iova = self.home.lock().allocate_at(at, len)?;
        Some(self.buffer(iova, len))
    }

    /// Makes the buffer of `len` bytes at `iova`, a range that was just allocated.
    fn buffer(&self, iova: Iova, len: usize) -> DmaBuffer {
        let offset = (iova.0 - self.memory.iova().0) as usize;
        let home = Some(Arc::clone(&self.home));
        DmaBuffer::cut(&self.memory, offset, len, self.trusted, home)
    }

    /// Returns the length of the memory in bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.memory.memory().len()
    }
}

/// Returns the length in bytes of a buffer for `len` bytes.
fn whole_dwords(len: usize) -> Option<usize> {
    let len = len.checked_next_multiple_of(DWORD)?;
    (len > 0 && u32::try_from(len).is_ok()).then_some(len)
}

/// An [`Arena`] in memory of a trusted device: its buffers can be used as slices.
#[derive(Clone)]
pub struct TrustedArena(Arena);

impl TrustedArena {
    /// Makes an arena of `memory`.
    pub fn new(memory: TrustedMemory) -> TrustedArena {
        TrustedArena(Arena::of(memory.into_inner(), true))
    }

    /// Allocates a buffer as [`Arena::take`] does.
    pub fn take(&self, len: usize) -> Option<TrustedBuffer> {
        self.0.take(len).map(TrustedBuffer::of)
    }

    /// Allocates the buffer at a given offset of the memory, as [`Arena::take_at`] does.
    pub fn take_at(&self, offset: usize, len: usize) -> Option<TrustedBuffer> {
        self.0.take_at(offset, len).map(TrustedBuffer::of)
    }

    /// Returns the length of the memory in bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
