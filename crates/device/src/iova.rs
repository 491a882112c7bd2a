//! Addresses in the device's space, and their allocation.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::RangeInclusive;

/// Page size of the IOMMU in bytes: the smallest allocation from a device's address space.
pub(crate) const PAGE: usize = 4096;

/// Checks that the kernel's pages are of [`PAGE`] bytes, which mapping registers and other processes' memory piece by
/// piece requires: arm64 has kernels with larger ones.
pub(crate) fn check_pages() -> io::Result<()> {
    check_page(rustix::param::page_size())
}

fn check_page(bytes: usize) -> io::Result<()> {
    if bytes == PAGE {
        return Ok(());
    }
    let message = format!("this kernel's pages have {bytes} bytes: boot one with pages of {PAGE}");
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}

/// An address in the device's space, as used in PRPs and queue base registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Iova(pub u64);

impl Iova {
    /// Returns the address `bytes` further on.
    #[inline]
    pub const fn offset(self, bytes: usize) -> Iova {
        Iova(self.0.wrapping_add(bytes as u64))
    }
}

impl fmt::LowerHex for Iova {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// First-fit allocator of a device's address space.
#[derive(Debug)]
pub struct IovaSpace {
    /// Free ranges, start to length, neither adjacent nor overlapping.
    free: BTreeMap<u64, u64>,
}

impl IovaSpace {
    /// Makes an address space of `ranges`, except the first page (a zero PRP is often a mistake) and the window
    /// FEE00000h to FEEFFFFFh, where x86 takes writes for interrupts.
    pub fn new(ranges: impl IntoIterator<Item = RangeInclusive<u64>>) -> IovaSpace {
        const RESERVED: [(u64, u64); 2] = [(0, PAGE as u64 - 1), (0xfee0_0000, 0xfeef_ffff)];
        let mut free = BTreeMap::new();
        for range in ranges {
            let mut start = *range.start();
            let end = *range.end();
            for (low, high) in RESERVED {
                if high < start || low > end {
                    continue;
                }
                insert(&mut free, start, low);
                start = high + 1;
            }
            if start <= end {
                // `end + 1` may not exist in 64 bits; losing the last page costs nothing.
                insert(&mut free, start, end.saturating_add(1));
            }
        }
        IovaSpace { free }
    }

    /// Allocates `len` bytes aligned to `align`, a power of two; both are multiples of the page.
    pub fn allocate(&mut self, len: usize, align: usize) -> Option<Iova> {
        let (len, align) = (len as u64, align as u64);
        let (start, room, at) = self.free.iter().find_map(|(&start, &room)| {
            let at = start.checked_next_multiple_of(align)?;
            let skipped = at - start;
            (room.checked_sub(skipped)? >= len).then_some((start, room, at))
        })?;
        self.free.remove(&start);
        insert(&mut self.free, start, at);
        insert(&mut self.free, at + len, start + room);
        Some(Iova(at))
    }

    /// Allocates the `len` bytes at `at`, if all of them are free.
    pub fn allocate_at(&mut self, at: Iova, len: usize) -> Option<Iova> {
        let end = at.0.checked_add(len as u64)?;
        let (&start, &room) = self.free.range(..=at.0).next_back()?;
        if end > start + room {
            return None;
        }
        self.free.remove(&start);
        insert(&mut self.free, start, at.0);
        insert(&mut self.free, end, start + room);
        Some(at)
    }

    /// Frees a range of [`IovaSpace::allocate`] or [`IovaSpace::allocate_at`].
    pub fn free(&mut self, iova: Iova, len: usize) {
        let (mut start, mut end) = (iova.0, iova.0 + len as u64);
        if let Some((&before, &room)) = self.free.range(..start).next_back()
            && before + room == start
        {
            self.free.remove(&before);
            start = before;
        }
        if let Some(room) = self.free.remove(&end) {
            end += room;
        }
        insert(&mut self.free, start, end);
    }
}

fn insert(free: &mut BTreeMap<u64, u64>, start: u64, end: u64) {
    if end > start {
        free.insert(start, end - start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interrupt_window_is_never_handed_out() {
        let mut space = IovaSpace::new([0xfed0_0000..=0xff00_0000]);
        assert_eq!(space.allocate(0x10_0000, PAGE), Some(Iova(0xfed0_0000)));
        assert_eq!(space.allocate(PAGE, PAGE), Some(Iova(0xfef0_0000)));
    }

    #[test]
    fn a_kernel_with_other_pages_is_refused_in_words() {
        assert!(check_pages().is_ok() == (rustix::param::page_size() == PAGE));
        let error = check_page(65536).unwrap_err().to_string();
        assert_eq!(
            error,
            "this kernel's pages have 65536 bytes: boot one with pages of 4096"
        );
    }

    #[test]
    fn a_full_space_says_so() {
        let mut space = IovaSpace::new([0..=0x1fff]);
        assert_eq!(space.allocate(PAGE, PAGE), Some(Iova(0x1000)));
        assert_eq!(space.allocate(PAGE, PAGE), None);
        space.free(Iova(0x1000), PAGE);
        assert_eq!(space.allocate(PAGE, PAGE), Some(Iova(0x1000)));
    }

    #[test]
    fn a_place_is_given_once_and_only_where_all_of_it_is_free() {
        let mut space = IovaSpace::new([0x1000..=0x4fff]);
        let whole = space.free.clone();
        assert_eq!(space.allocate_at(Iova(0x2000), PAGE), Some(Iova(0x2000)));
        for (at, pages) in [(0x2000, 1), (0x1000, 2), (0x4000, 2), (0, 1), (0x5000, 1)] {
            assert_eq!(space.allocate_at(Iova(at), pages * PAGE), None, "{at:#x}");
        }
        assert_eq!(space.allocate_at(Iova(u64::MAX), PAGE), None);
        assert_eq!(
            space.allocate_at(Iova(0x3000), 2 * PAGE),
            Some(Iova(0x3000))
        );
        assert_eq!(space.allocate(PAGE, PAGE), Some(Iova(0x1000)));
        space.free(Iova(0x1000), 4 * PAGE);
        assert_eq!(space.free, whole);
    }

    proptest! {
        #[test]
        fn pieces_never_overlap_and_all_come_back(
            steps in proptest::collection::vec((1usize..8, 0u32..4, any::<bool>()), 1..100)
        ) {
            let mut space = IovaSpace::new([0x1000..=0xff_ffff]);
            let whole = space.free.clone();
            let mut held: Vec<(Iova, usize)> = Vec::new();
            for (pages, align, release) in steps {
                if release && !held.is_empty() {
                    let (iova, len) = held.swap_remove(pages % held.len());
                    space.free(iova, len);
                } else if let Some(iova) = space.allocate(pages * PAGE, PAGE << align) {
                    prop_assert_eq!(iova.0 % (PAGE << align) as u64, 0);
                    for &(other, len) in &held {
                        prop_assert!(
                            iova.0 + (pages * PAGE) as u64 <= other.0 || other.0 + len as u64 <= iova.0
                        );
                    }
                    held.push((iova, pages * PAGE));
                }
            }
            for (iova, len) in held {
                space.free(iova, len);
            }
            prop_assert_eq!(space.free, whole);
        }
    }
}
