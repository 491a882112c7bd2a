//! Physical addresses of this process' memory, from `/proc/self/pagemap` (Linux'
//! Documentation/admin-guide/mm/pagemap.rst): used by a device without an IOMMU.
//!
//! A page's address must not change while the device uses it. Huge pages of the hugetlb pool are neither swapped nor
//! merged nor moved by compaction or NUMA balancing; only whoever unplugs or soft-offlines memory, or migrates a
//! process' pages (migrate_pages(2), cpusets), moves them. DPDK and SPDK rely on the same.

use crate::iova::PAGE;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of a huge page of the pool.
pub(super) const HUGE: usize = 2 << 20;

/// The kernel's table of this process' pages.
pub(super) struct PageMap(File);

/// Reason why memory has no physical address that a device could use.
#[derive(Debug)]
pub(super) enum NoAddress {
    /// A page is not present.
    NotPresent,
    /// The kernel does not show the addresses to this user.
    Hidden,
    /// Pages that are adjacent in this process are not adjacent in physical memory.
    Apart,
    Os(io::Error),
}

impl PageMap {
    pub(super) fn open() -> io::Result<PageMap> {
        File::open("/proc/self/pagemap").map(PageMap)
    }

    /// Returns the physical address of the first of `len` bytes at `address`, which are in huge pages that are present
    /// and physically adjacent.
    pub(super) fn range(&self, address: u64, len: usize) -> Result<u64, NoAddress> {
        in_one_piece(address, len, |address| {
            let mut entry = [0; 8];
            let at = address / PAGE as u64 * 8;
            self.0
                .read_exact_at(&mut entry, at)
                .map_err(NoAddress::Os)?;
            Ok(u64::from_ne_bytes(entry))
        })
    }
}

/// Returns the physical address of `len` bytes at `address`; `entry` reads the page table entry of a page.
fn in_one_piece(
    address: u64,
    len: usize,
    entry: impl Fn(u64) -> Result<u64, NoAddress>,
) -> Result<u64, NoAddress> {
    let first = physical(entry(address)?)? + address % PAGE as u64;
    let end = address + len as u64;
    // Inside a huge page addresses are adjacent.
    let mut next = (address + 1).next_multiple_of(HUGE as u64);
    while next < end {
        if physical(entry(next)?)? != first + (next - address) {
            return Err(NoAddress::Apart);
        }
        next += HUGE as u64;
    }
    Ok(first)
}

/// Returns the address in an entry: bit 63 is "present"; bits 0 to 54 are the number of the page frame, zero for users
/// to whom the kernel does not show it.
fn physical(entry: u64) -> Result<u64, NoAddress> {
    if entry >> 63 == 0 {
        return Err(NoAddress::NotPresent);
    }
    match entry & ((1 << 55) - 1) {
        0 => Err(NoAddress::Hidden),
        frame => Ok(frame * PAGE as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SharedMemory;

    const PRESENT: u64 = 1 << 63;
    const AT: u64 = 0x7f00_0000_0000;

    /// Entries as pairs of a place after [`AT`], in pages, and a frame.
    fn found(len: usize, frames: &[(u64, u64)]) -> Result<u64, NoAddress> {
        in_one_piece(AT + 0x10, len, |address| {
            let page = (address - AT) / PAGE as u64;
            let frame = frames.iter().find(|(at, _)| *at == page);
            Ok(frame.map_or(0, |(_, frame)| PRESENT | frame))
        })
    }

    #[test]
    fn a_piece_has_the_address_of_its_first_byte() {
        assert_eq!(found(100, &[(0, 0x400)]).unwrap(), 0x40_0010);
        let both = [(0, 0x400), (512, 0x600)];
        assert_eq!(found(HUGE, &both).unwrap(), 0x40_0010);
        assert_eq!(found(HUGE - 0x10, &both[..1]).unwrap(), 0x40_0010);
    }

    #[test]
    fn pages_that_lie_apart_or_are_missing_or_hidden_have_none() {
        let apart = found(HUGE, &[(0, 0x400), (512, 0x800)]);
        assert!(matches!(apart, Err(NoAddress::Apart)));
        let missing = found(HUGE, &[(0, 0x400)]);
        assert!(matches!(missing, Err(NoAddress::NotPresent)));
        assert!(matches!(found(1, &[(0, 0)]), Err(NoAddress::Hidden)));
    }

    #[test]
    fn the_kernels_table_knows_memory_that_was_touched() {
        let memory = SharedMemory::allocate(PAGE).unwrap();
        memory.write(0, &[1]);
        let map = PageMap::open().unwrap();
        // Either an address, or the error that this user may not see it.
        match map.range(memory.address(), PAGE) {
            Ok(address) => assert!(address > 0 && address % PAGE as u64 == 0),
            Err(why) => assert!(matches!(why, NoAddress::Hidden), "{why:?}"),
        }
        assert!(matches!(map.range(8, 1), Err(NoAddress::NotPresent)));
    }
}
