//! Memory with an address in the device's space.
//!
//! Sound because the memory is owned by an `Arc` until after the mapping into the device is gone:
//! fields drop in order, the mapping first.

use crate::copy::copy;
use crate::{Iova, PageKind, SharedMemory};
use joulio_cpu::CacheLine;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Names one device's address space within this process: an address means nothing in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaDomain(u32);

impl DmaDomain {
    /// A domain unlike every other.
    pub fn unique() -> DmaDomain {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        DmaDomain(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A mapping that keeps memory reachable for a device; dropping it ends the reach before it
/// returns.
pub trait DmaMapping: Send + Sync + 'static {
    /// The address space that the memory is reachable in.
    fn domain(&self) -> DmaDomain;
}

/// Memory that a device can reach, contiguous in its address space.
pub struct DmaMemory {
    mapping: Box<dyn DmaMapping>,
    memory: Arc<SharedMemory>,
    iova: Iova,
}

impl DmaMemory {
    /// `memory`, which `mapping` keeps reachable at `iova`.
    pub fn new(memory: Arc<SharedMemory>, iova: Iova, mapping: impl DmaMapping) -> DmaMemory {
        DmaMemory {
            mapping: Box::new(mapping),
            memory,
            iova,
        }
    }

    /// Device address of the first byte.
    pub fn iova(&self) -> Iova {
        self.iova
    }

    /// The address space that [`DmaMemory::iova`] belongs to.
    pub fn domain(&self) -> DmaDomain {
        self.mapping.domain()
    }

    /// The bytes.
    pub fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    /// The bytes, to keep beyond this mapping of them.
    pub fn share(&self) -> Arc<SharedMemory> {
        Arc::clone(&self.memory)
    }

    /// The allocated pages.
    pub fn pages(&self) -> PageKind {
        self.memory.pages()
    }

    /// `entries` values of `T` from `offset` on: a ring, a queue, a table.
    ///
    /// # Panics
    /// When the range is not inside or not aligned.
    pub fn array<T: Entry>(self: &Arc<Self>, offset: usize, entries: usize) -> DmaArray<T> {
        let bytes = entries.checked_mul(size_of::<T>());
        let bytes = bytes.expect("an array within the address space");
        let at = self.memory.at(offset, bytes).cast::<T>();
        assert!(at.is_aligned() && at.cast::<u32>().is_aligned());
        DmaArray {
            at: NonNull::new(at).expect("inside a mapping"),
            entries,
            iova: self.iova.offset(offset),
            owner: Arc::clone(self),
        }
    }
}

/// A type that may stand in memory shared with a device: any bytes are a value, without padding.
///
/// # Safety
/// Every bit pattern of `size_of::<Self>()` bytes is a valid value, none of them padding.
pub unsafe trait Entry: Copy + Send + 'static {
    /// Writes `value` by volatile stores. Words go out one by one, straight from registers: a
    /// volatile store of a whole array would go over the stack.
    ///
    /// # Safety
    /// `at` is valid for a write, and aligned.
    #[inline]
    unsafe fn store(at: *mut Self, value: Self) {
        // SAFETY: by the caller.
        unsafe { at.write_volatile(value) }
    }
}
// SAFETY: integers have no invalid patterns and no padding.
unsafe impl Entry for u32 {}
// SAFETY: as above.
unsafe impl Entry for u64 {}
// SAFETY: as above.
unsafe impl<const N: usize> Entry for [u64; N] {
    #[inline]
    unsafe fn store(at: *mut Self, value: Self) {
        for (index, word) in value.into_iter().enumerate() {
            // SAFETY: the words of an array that the caller vouches for.
            unsafe { at.cast::<u64>().add(index).write_volatile(word) }
        }
    }
}
// SAFETY: as above.
unsafe impl<const N: usize> Entry for [u32; N] {}

/// Entries in DMA memory: queues and PRP lists. Keeps the memory alive. Whoever holds two that
/// overlap writes them from one thread only: the other writer is the device.
pub struct DmaArray<T> {
    at: NonNull<T>,
    entries: usize,
    iova: Iova,
    owner: Arc<DmaMemory>,
}

// SAFETY: accesses are volatile or atomic; the memory lives as long as `owner`.
unsafe impl<T: Entry> Send for DmaArray<T> {}

impl<T: Entry> DmaArray<T> {
    /// Device address of entry 0.
    pub fn iova(&self) -> Iova {
        self.iova
    }

    /// Entry 0.
    pub(crate) fn first(&self) -> NonNull<T> {
        self.at
    }

    /// The number of entries.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.entries
    }

    /// The memory this stands in.
    pub fn owner(&self) -> &Arc<DmaMemory> {
        &self.owner
    }

    /// Reads entry `index`.
    ///
    /// # Panics
    /// When `index` is not below the length.
    #[inline]
    pub fn read(&self, index: usize) -> T {
        assert!(index < self.entries);
        // SAFETY: inside and aligned by construction; any bytes are a `T`.
        unsafe { self.at.add(index).read_volatile() }
    }

    /// Writes entry `index`.
    ///
    /// # Panics
    /// When `index` is not below the length.
    #[inline]
    pub fn write(&self, index: usize, value: T) {
        assert!(index < self.entries);
        // SAFETY: inside and aligned by construction.
        unsafe { T::store(self.at.as_ptr().add(index), value) }
    }

    /// The cache line of entry `index`, to be watched.
    ///
    /// # Panics
    /// When there is no such entry.
    pub fn cache_line(&self, index: usize) -> CacheLine<'_> {
        assert!(index < self.entries);
        // SAFETY: inside the array, as checked, whose memory `owner` keeps for longer than `self`
        // is borrowed.
        unsafe { CacheLine::new(self.at.add(index).cast()) }
    }

    /// Loads the 32-bit word at byte `offset` of entry `index` with acquire ordering: reads of the
    /// entry that follow see at least what the device wrote before that word.
    ///
    /// # Panics
    /// When the word is not inside entry `index`.
    #[inline]
    pub fn load_word(&self, index: usize, offset: usize) -> u32 {
        const { assert!(size_of::<T>() >= 4 && size_of::<T>().is_multiple_of(4)) };
        assert!(index < self.entries);
        assert!(offset <= size_of::<T>() - 4 && offset.is_multiple_of(4));
        // SAFETY: inside as checked; `array` saw to the alignment, and entries are whole words.
        unsafe {
            let word = self.at.as_ptr().add(index).cast::<u8>().add(offset);
            AtomicU32::from_ptr(word.cast()).load(Ordering::Acquire)
        }
    }
}

impl DmaMemory {
    /// Copies the bytes from `offset` into `to`.
    ///
    /// # Panics
    /// When the range is not inside.
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        self.memory.read(offset, to);
    }

    /// Copies `from` to `offset`.
    ///
    /// # Panics
    /// When the range is not inside.
    pub fn write(&self, offset: usize, from: &[u8]) {
        self.memory.write(offset, from);
    }
}

/// A data buffer: a piece of DMA memory that is either the caller's or, inside a queue, the
/// device's. It is moved into the queue with the command and comes back with the completion, so
/// that a use in between does not compile. One word, so that moving it costs nothing.
pub struct DmaBuffer(Box<Piece>);

struct Piece {
    at: NonNull<u8>,
    iova: Iova,
    len: u32,
    domain: DmaDomain,
    /// Held for its drop.
    _owner: Arc<DmaMemory>,
}

// SAFETY: accesses are volatile; the memory lives as long as the owner.
unsafe impl Send for DmaBuffer {}
// SAFETY: through `&self` the memory is only read.
unsafe impl Sync for DmaBuffer {}

impl DmaBuffer {
    /// Cuts `memory` into `count` buffers of `len` bytes, each starting on a page.
    ///
    /// # Panics
    /// When they do not fit.
    pub fn carve(memory: DmaMemory, count: usize, len: usize) -> Vec<DmaBuffer> {
        let domain = memory.domain();
        let owner = Arc::new(memory);
        let stride = Self::stride(len);
        let piece = |index| Piece {
            at: NonNull::new(owner.memory.at(index * stride, len)).expect("inside a mapping"),
            iova: owner.iova.offset(index * stride),
            len: u32::try_from(len).expect("a buffer is below 4 GiB"),
            domain,
            _owner: Arc::clone(&owner),
        };
        (0..count).map(|i| DmaBuffer(Box::new(piece(i)))).collect()
    }

    /// Distance in bytes between buffers of `len` bytes.
    pub fn stride(len: usize) -> usize {
        len.max(1).next_multiple_of(crate::iova::PAGE)
    }

    /// Length in bytes.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.len as usize
    }

    /// Device address of the first byte.
    #[inline]
    pub fn iova(&self) -> Iova {
        self.0.iova
    }

    /// The address space that [`DmaBuffer::iova`] belongs to.
    #[inline]
    pub fn domain(&self) -> DmaDomain {
        self.0.domain
    }

    /// Address of the first byte in this process, which stays the same while the buffer is the
    /// device's. For callers that read and write in place: what is there changes while a command has
    /// the buffer, and, with a device that is not trusted, at any time; so that no reference to it may
    /// be made there.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.at.as_ptr()
    }

    /// Copies the bytes from `offset` into `to`.
    ///
    /// # Panics
    /// When the range is not inside.
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        let from = self.at(offset, to.len());
        // SAFETY: inside as checked; `to` is ours alone.
        unsafe { copy(from, to.as_mut_ptr(), to.len()) }
    }

    /// Copies `from` to `offset`.
    ///
    /// # Panics
    /// When the range is not inside.
    pub fn write(&mut self, offset: usize, from: &[u8]) {
        let to = self.at(offset, from.len());
        // SAFETY: as in `read`.
        unsafe { copy(from.as_ptr(), to, from.len()) }
    }

    /// The pointer to `offset`, which `len` bytes of this buffer follow.
    fn at(&self, offset: usize, len: usize) -> *mut u8 {
        assert!(
            offset <= self.len() && len <= self.len() - offset,
            "{len} bytes at {offset} of a buffer of {}",
            self.len()
        );
        // SAFETY: inside as checked.
        unsafe { self.0.at.as_ptr().add(offset) }
    }
}
