//! Memory with an address in the device's space.
//!
//! Sound because the memory is owned by an `Arc` until after the mapping into the device is gone:
//! fields drop in order, the mapping first.

use crate::{Iova, PageKind, SharedMemory};
use joulio_cpu::{CacheLine, fence};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Identifies one device's address space within this process: an address is valid only in its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaDomain(u32);

impl DmaDomain {
    /// Makes a domain that is equal to no other.
    pub fn unique() -> DmaDomain {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        DmaDomain(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A mapping that keeps memory reachable for a device: when dropping it returns, the device reaches the memory no more.
pub trait DmaMapping: Send + Sync + 'static {
    /// Returns the address space that the memory is reachable in.
    fn domain(&self) -> DmaDomain;
}

/// Memory that a device can reach, contiguous in its address space.
pub struct DmaMemory {
    mapping: Box<dyn DmaMapping>,
    memory: Arc<SharedMemory>,
    iova: Iova,
}

impl DmaMemory {
    /// Makes DMA memory of `memory`, which `mapping` keeps reachable at `iova`.
    pub fn new(memory: Arc<SharedMemory>, iova: Iova, mapping: impl DmaMapping) -> DmaMemory {
        DmaMemory {
            mapping: Box::new(mapping),
            memory,
            iova,
        }
    }

    /// Returns the device address of the first byte.
    pub fn iova(&self) -> Iova {
        self.iova
    }

    /// Returns the address space that [`DmaMemory::iova`] belongs to.
    pub fn domain(&self) -> DmaDomain {
        self.mapping.domain()
    }

    /// Returns the memory.
    pub fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    /// Returns the memory, to be kept beyond this mapping of it.
    pub fn share(&self) -> Arc<SharedMemory> {
        Arc::clone(&self.memory)
    }

    /// Returns the kind of the pages.
    pub fn pages(&self) -> PageKind {
        self.memory.pages()
    }

    /// Returns an array of `entries` values of `T` from `offset` on: a ring, a queue, a table.
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

/// A type that may be placed in memory shared with a device: any bytes are a valid value, and there is no padding.
///
/// # Safety
/// Every bit pattern of `size_of::<Self>()` bytes is a valid value, none of them padding.
pub unsafe trait Entry: Copy + Send + 'static {
    /// Writes `value` by volatile stores. Words are stored one by one from registers: a volatile store of a whole array
    /// would be copied to the stack first.
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

/// Entries in DMA memory: queues and PRP lists. Keeps the memory alive. Two arrays that overlap must be written from
/// one thread only: the other writer is the device.
pub struct DmaArray<T> {
    at: NonNull<T>,
    entries: usize,
    iova: Iova,
    owner: Arc<DmaMemory>,
}

// SAFETY: accesses are volatile or atomic; the memory lives as long as `owner`.
unsafe impl<T: Entry> Send for DmaArray<T> {}

impl<T: Entry> DmaArray<T> {
    /// Returns the device address of entry 0.
    pub fn iova(&self) -> Iova {
        self.iova
    }

    /// Entry 0.
    pub(crate) fn first(&self) -> NonNull<T> {
        self.at
    }

    /// Returns the number of entries.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Returns the memory that contains the array.
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

    /// Returns the cache line of entry `index`, to be monitored.
    ///
    /// # Panics
    /// When there is no such entry.
    pub fn cache_line(&self, index: usize) -> CacheLine<'_> {
        assert!(index < self.entries);
        // SAFETY: inside the array, as checked, whose memory `owner` keeps for longer than `self`
        // is borrowed.
        unsafe { CacheLine::new(self.at.add(index).cast()) }
    }

    /// Loads the 32-bit word at byte `offset` of entry `index` with acquire ordering: later reads of the entry see at
    /// least the device's writes before that word.
    ///
    /// # Panics
    /// When the word is not inside entry `index`.
    #[inline]
    pub fn load_word(&self, index: usize, offset: usize) -> u32 {
        const { assert!(size_of::<T>() >= 4 && size_of::<T>().is_multiple_of(4)) };
        assert!(index < self.entries);
        assert!(offset <= size_of::<T>() - 4 && offset.is_multiple_of(4));
        // SAFETY: inside as checked; `array` has checked the alignment, and entries are whole words.
        let value = unsafe {
            let word = self.at.as_ptr().add(index).cast::<u8>().add(offset);
            AtomicU32::from_ptr(word.cast()).load(Ordering::Relaxed)
        };
        fence::dma_read();
        value
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
