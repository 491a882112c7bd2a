//! A ring of entries in DMA memory.
//!
//! Sound because the position is always inside the ring's array, which keeps its memory: it begins at the first entry,
//! advances by one, and wraps from the last to the first.

use crate::{DmaArray, Entry};
use joulio_cpu::CacheLine;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A ring of entries in DMA memory with a position that only advances: a queue's tail or head. Accesses at the position
/// need no check.
pub struct DmaRing<T> {
    /// The current position.
    at: NonNull<T>,
    first: NonNull<T>,
    /// End of the last entry.
    end: NonNull<T>,
    array: DmaArray<T>,
}

// SAFETY: accesses are volatile or atomic; the memory lives as long as `array`.
unsafe impl<T: Entry> Send for DmaRing<T> {}

impl<T: Entry> DmaRing<T> {
    /// Makes a ring of the entries of `array`, positioned at the first.
    ///
    /// # Panics
    /// When the array has no entries.
    pub fn new(array: DmaArray<T>) -> DmaRing<T> {
        assert!(array.len() > 0, "a ring has entries");
        let first = array.first();
        // SAFETY: the end of the array's own range.
        let end = unsafe { first.add(array.len()) };
        DmaRing {
            at: first,
            first,
            end,
            array,
        }
    }

    /// Returns the array of the ring.
    pub fn array(&self) -> &DmaArray<T> {
        &self.array
    }

    /// Returns the number of entries.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// Returns the index of the current position.
    #[inline]
    pub fn index(&self) -> usize {
        // SAFETY: both are in the array.
        unsafe { self.at.offset_from(self.first) as usize }
    }

    /// Advances by one entry; returns true if it wrapped to the first.
    #[inline]
    pub fn advance(&mut self) -> bool {
        // SAFETY: `at` is before `end`, so that this is at most the end.
        self.at = unsafe { self.at.add(1) };
        let wrapped = self.at == self.end;
        if wrapped {
            self.at = self.first;
        }
        wrapped
    }

    /// Returns to the first entry.
    pub fn restart(&mut self) {
        self.at = self.first;
    }

    /// Writes the entry at the current position.
    #[inline]
    pub fn write(&self, value: T) {
        // SAFETY: inside and aligned: the ring's invariant.
        unsafe { T::store(self.at.as_ptr(), value) }
    }

    /// Loads the 32-bit word at byte `OFFSET` of the current entry, unordered with other loads: after the word that
    /// shows that the device has written the entry, the caller needs [`fence::dma_read`](crate::fence::dma_read).
    #[inline]
    pub fn load_word<const OFFSET: usize>(&self) -> u32 {
        const {
            assert!(size_of::<T>().is_multiple_of(4) && OFFSET.is_multiple_of(4));
            assert!(OFFSET + 4 <= size_of::<T>());
        };
        // SAFETY: inside; `DmaMemory::array` has checked the alignment, and entries are whole words.
        unsafe {
            let word = self.at.cast::<u8>().add(OFFSET).cast::<u32>();
            AtomicU32::from_ptr(word.as_ptr()).load(Ordering::Relaxed)
        }
    }

    /// Loads the 64-bit word at byte `OFFSET` of the current entry, unordered as [`DmaRing::load_word`].
    #[inline]
    pub fn load_long_word<const OFFSET: usize>(&self) -> u64 {
        const {
            assert!(align_of::<T>() >= align_of::<AtomicU64>() && OFFSET.is_multiple_of(8));
            assert!(OFFSET + 8 <= size_of::<T>());
        };
        // SAFETY: inside; `DmaMemory::array` has checked the alignment of `T`, which is no less than that of the word.
        unsafe {
            let word = self.at.cast::<u8>().add(OFFSET).cast::<u64>();
            AtomicU64::from_ptr(word.as_ptr()).load(Ordering::Relaxed)
        }
    }

    /// Returns the cache line of the current entry, to be monitored.
    pub fn cache_line(&self) -> CacheLine<'_> {
        self.array.cache_line(self.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DmaDomain, DmaMapping, DmaMemory, Iova, SharedMemory};
    use std::sync::Arc;

    struct Unmapped(DmaDomain);

    impl DmaMapping for Unmapped {
        fn domain(&self) -> DmaDomain {
            self.0
        }
    }

    #[test]
    fn a_place_goes_round_and_reads_what_was_written_there() {
        let memory = Arc::new(SharedMemory::allocate(4096).unwrap());
        let mapping = Unmapped(DmaDomain::unique());
        let memory = Arc::new(DmaMemory::new(memory, Iova(0), mapping));
        let mut ring = DmaRing::new(memory.array::<[u64; 2]>(64, 3));
        for lap in 0..4u32 {
            for index in 0..3 {
                assert_eq!(ring.index(), index);
                let (first, second) = (u64::from(lap) << 32 | 7, (index as u64) << 32);
                ring.write([first, second]);
                assert_eq!((ring.load_word::<0>(), ring.load_word::<4>()), (7, lap));
                assert_eq!(ring.load_word::<12>(), index as u32);
                assert_eq!(ring.load_long_word::<0>(), first);
                assert_eq!(ring.load_long_word::<8>(), second);
                assert_eq!(ring.array().read(index), [first, second]);
                assert_eq!(ring.advance(), index == 2);
            }
        }
        ring.advance();
        ring.restart();
        assert_eq!(ring.index(), 0);
    }
}
