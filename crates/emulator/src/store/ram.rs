//! Bytes of a namespace in memory.

use crate::guest::PAGE;
use joulio_device::{DeviceError, SharedMemory};
use std::ops::Range;

const PAGE_BYTES: usize = PAGE as usize;
/// Pages whose bits are in one word.
const WORD: usize = u32::BITS as usize;
const WORD_BYTES: usize = size_of::<u32>();

/// Memory with a bit for each page. It takes no room until it is written, unless it was allocated at once.
///
/// A page whose bit is clear is all zeroes, and a read does not touch it: the kernel would have to map a page of zeroes
/// there first, which takes longer than the read, and takes room for page tables.
#[derive(Debug)]
pub(crate) struct Ram {
    bytes: SharedMemory,
    written: SharedMemory,
}

impl Ram {
    /// Makes memory of at least `len` bytes, all zero.
    pub(super) fn reserve(len: usize) -> Result<Ram, DeviceError> {
        Self::with_bits(SharedMemory::reserve(len)?)
    }

    /// Makes memory of at least `len` bytes, all zero, that is allocated now, in huge pages where the system has them,
    /// and kept.
    pub(super) fn allocate(len: usize) -> Result<Ram, DeviceError> {
        Self::with_bits(SharedMemory::allocate(len)?)
    }

    /// Adds the bits, all clear, of memory that is all zero.
    fn with_bits(bytes: SharedMemory) -> Result<Ram, DeviceError> {
        let words = (bytes.len() / PAGE_BYTES).div_ceil(WORD);
        let written = SharedMemory::reserve(words * WORD_BYTES)?;
        Ok(Ram { bytes, written })
    }

    /// Copies `len` bytes from `position` to `offset` of `to`.
    #[inline]
    pub(super) fn copy_to(&self, position: usize, to: &SharedMemory, offset: usize, len: usize) {
        for (piece, written) in self.pieces(position, len) {
            let to_offset = offset + (piece.start - position);
            if written {
                self.bytes.copy_to(piece.start, to, to_offset, piece.len());
            } else {
                to.zero(to_offset, piece.len());
            }
        }
    }

    /// Copies from `position` into `to`.
    pub(super) fn read(&self, position: usize, to: &mut [u8]) {
        for (piece, written) in self.pieces(position, to.len()) {
            let to = &mut to[piece.start - position..piece.end - position];
            if written {
                self.bytes.read(piece.start, to);
            } else {
                to.fill(0);
            }
        }
    }

    /// Copies `len` bytes from `offset` of `from` to `position`.
    #[inline]
    pub(super) fn copy_from(
        &self,
        position: usize,
        from: &SharedMemory,
        offset: usize,
        len: usize,
    ) {
        for page in position / PAGE_BYTES..(position + len).div_ceil(PAGE_BYTES) {
            let (word, bit) = place(page);
            let bits = self.written.load_u32(word);
            if bits & bit == 0 {
                self.written.store_u32(word, bits | bit);
            }
        }
        from.copy_to(offset, &self.bytes, position, len);
    }

    /// Zeroes `len` bytes from `position` on, and releases the room of whole pages.
    pub(super) fn zero(&self, position: usize, len: usize) {
        self.bytes.zero(position, len);
        // Pages that are zeroed in part may keep their bits.
        let first = position.div_ceil(PAGE_BYTES);
        let end = (position + len) / PAGE_BYTES;
        let words = first.div_ceil(WORD)..end / WORD;
        if words.start < words.end {
            let bytes = (words.end - words.start) * WORD_BYTES;
            self.written.zero(words.start * WORD_BYTES, bytes);
            self.forget(first..words.start * WORD);
            self.forget(words.end * WORD..end);
        } else {
            self.forget(first..end);
        }
    }

    /// Clears the bits of a few pages.
    fn forget(&self, pages: Range<usize>) {
        for page in pages {
            let (word, bit) = place(page);
            let bits = self.written.load_u32(word);
            self.written.store_u32(word, bits & !bit);
        }
    }

    #[inline]
    fn is_written(&self, page: usize) -> bool {
        let (word, bit) = place(page);
        self.written.load_u32(word) & bit != 0
    }

    /// Cuts the `len` bytes at `position` where pages with and without their bit meet; returns whether each piece has
    /// been written.
    #[inline]
    fn pieces(&self, position: usize, len: usize) -> impl Iterator<Item = (Range<usize>, bool)> {
        let (mut at, end) = (position, position + len);
        std::iter::from_fn(move || {
            if at == end {
                return None;
            }
            let start = at;
            let written = self.is_written(at / PAGE_BYTES);
            while at < end && self.is_written(at / PAGE_BYTES) == written {
                at = (at / PAGE_BYTES * PAGE_BYTES + PAGE_BYTES).min(end);
            }
            Some((start..at, written))
        })
    }
}

/// Returns the offset in bytes of the word with a page's bit, and the bit.
#[inline]
fn place(page: usize) -> (usize, u32) {
    (page / WORD * WORD_BYTES, 1 << (page % WORD))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGES: usize = 200;
    const SIZE: usize = PAGES * PAGE_BYTES;

    #[derive(Clone, Copy, Debug)]
    enum Change {
        Write(u8),
        Zero,
    }

    /// A change of a range of blocks of 512 bytes.
    fn change() -> impl Strategy<Value = (Change, Range<usize>)> {
        let what = prop_oneof![(1u8..).prop_map(Change::Write), Just(Change::Zero)];
        let ends = (0..=SIZE / 512, 0..=SIZE / 512);
        (what, ends)
            .prop_map(|(what, (one, other))| (what, 512 * one.min(other)..512 * one.max(other)))
    }

    fn writable() -> SharedMemory {
        SharedMemory::allocate(SIZE).unwrap()
    }

    /// Faults of this thread so far that needed no disk (proc(5), minflt).
    fn faults() -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().nth(7).unwrap().parse().unwrap()
    }

    proptest! {
        #[test]
        fn every_range_reads_as_it_was_last_written_or_as_zeroes(
            changes in proptest::collection::vec(change(), 1..8),
            (_, read) in change(),
            prealloc in any::<bool>(),
        ) {
            let make = if prealloc { Ram::allocate } else { Ram::reserve };
            let (ram, host) = (make(SIZE).unwrap(), writable());
            let mut expected = vec![0; SIZE];
            for (change, range) in changes {
                match change {
                    Change::Write(byte) => {
                        host.write(range.start, &vec![byte; range.len()]);
                        ram.copy_from(range.start, &host, range.start, range.len());
                        expected[range].fill(byte);
                    }
                    Change::Zero => {
                        ram.zero(range.start, range.len());
                        expected[range].fill(0);
                    }
                }
            }
            let mut back = vec![1; read.len()];
            ram.read(read.start, &mut back);
            prop_assert!(back == expected[read.clone()]);
            host.write(0, &vec![1; SIZE]);
            ram.copy_to(read.start, &host, read.start, read.len());
            let mut all = vec![0; SIZE];
            host.read(0, &mut all);
            expected[..read.start].fill(1);
            expected[read.end..].fill(1);
            prop_assert!(all == expected);
        }
    }

    #[test]
    fn a_read_of_what_was_never_written_faults_no_page_in() {
        const MANY: usize = 16 << 10;
        let ram = Ram::reserve(MANY * PAGE_BYTES).unwrap();
        let host = writable();
        let read_all = || {
            let before = faults();
            for page in 0..MANY {
                ram.copy_to(page * PAGE_BYTES, &host, 0, PAGE_BYTES);
            }
            faults() - before
        };
        let fresh = read_all();
        assert!(fresh < 100, "{fresh} faults");
        ram.copy_from(0, &host, 0, PAGE_BYTES);
        ram.zero(0, MANY * PAGE_BYTES);
        let released = read_all();
        assert!(released < 100, "{released} faults after a release");
    }

    #[test]
    fn a_write_to_allocated_memory_faults_no_small_page_in() {
        const MANY: usize = 16 << 10;
        let ram = Ram::allocate(MANY * PAGE_BYTES).unwrap();
        let host = writable();
        let before = faults();
        for page in 0..MANY {
            ram.copy_from(page * PAGE_BYTES, &host, 0, PAGE_BYTES);
        }
        let fresh = faults() - before;
        assert!(fresh < 100, "{fresh} faults");
    }
}
