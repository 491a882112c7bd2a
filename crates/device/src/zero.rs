//! Zeroing memory, where possible by releasing its pages.

use crate::SharedMemory;
use crate::iova::PAGE;

impl SharedMemory {
    /// Zeroes `len` bytes from `offset` on. In memory made by [`SharedMemory::reserve`], whole pages are released
    /// instead: they take no room until they are written again.
    ///
    /// # Panics
    /// When the range is not inside.
    pub fn zero(&self, offset: usize, len: usize) {
        // The range as a whole is inside, whatever its parts are.
        self.at(offset, len);
        let end = offset + len;
        let first = offset.next_multiple_of(PAGE);
        let last = end - end % PAGE;
        if self.is_reserved() && first < last && self.give_back(first, last - first) {
            self.clear(offset, first - offset);
            self.clear(last, end - last);
        } else {
            self.clear(offset, len);
        }
    }

    /// Releases the pages under whole pages of a private anonymous mapping, so that they read as zero (madvise(2),
    /// MADV_DONTNEED). `false`: nothing was done.
    fn give_back(&self, offset: usize, len: usize) -> bool {
        let at = self.at(offset, len);
        // SAFETY: the range is inside our mapping, and no reference points into it (see `memory`): its bytes change as
        // they would by a write of the other side.
        unsafe { libc::madvise(at.cast(), len, libc::MADV_DONTNEED) == 0 }
    }

    /// Writes zeroes to `len` bytes from `offset` on.
    pub(crate) fn clear(&self, offset: usize, len: usize) {
        const ZEROES: [u8; PAGE] = [0; PAGE];
        for at in (0..len).step_by(ZEROES.len()) {
            self.write(offset + at, &ZEROES[..ZEROES.len().min(len - at)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nonzero(memory: &SharedMemory) -> Vec<usize> {
        let mut bytes = vec![0; memory.len()];
        memory.read(0, &mut bytes);
        (0..bytes.len()).filter(|&at| bytes[at] != 0).collect()
    }

    #[test]
    fn exactly_the_range_is_zero_after_it() {
        let both = [SharedMemory::reserve, SharedMemory::allocate];
        for memory in both.map(|make| make(4 * PAGE).unwrap()) {
            for (offset, len) in [
                (0, 4 * PAGE),
                (PAGE, PAGE),
                (100, 50),
                (100, PAGE),
                (PAGE - 1, 2 * PAGE + 2),
                (4 * PAGE, 0),
            ] {
                memory.write(0, &vec![7; 4 * PAGE]);
                memory.zero(offset, len);
                let expected: Vec<usize> = (0..offset).chain(offset + len..4 * PAGE).collect();
                assert!(nonzero(&memory) == expected, "{offset} {len}");
            }
        }
    }

    #[test]
    fn reserved_memory_gives_its_pages_back() {
        let memory = SharedMemory::reserve(64 * PAGE).unwrap();
        memory.write(0, &vec![7; 64 * PAGE]);
        let resident = || {
            let mut pages = [0u8; 64];
            let at = memory.address() as *mut libc::c_void;
            let vec = pages.as_mut_ptr();
            // SAFETY: the mapping is ours, and there is a byte for each of its pages.
            let done = unsafe { libc::mincore(at, memory.len(), vec) };
            assert_eq!(done, 0);
            pages.iter().filter(|&&page| page & 1 != 0).count()
        };
        assert_eq!(resident(), 64);
        memory.zero(PAGE / 2, 63 * PAGE);
        assert_eq!(resident(), 2);
    }

    #[test]
    #[should_panic(expected = "bytes at")]
    fn a_range_past_the_end_panics_before_it_touches() {
        SharedMemory::reserve(PAGE).unwrap().zero(1, PAGE);
    }
}
