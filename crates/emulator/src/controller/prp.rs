//! PRP entries as checked pieces of memory (Base 4.1.1, figures 108 to 110).

use super::data::DataWalker;
use crate::guest::{GuestMemory, PAGE, Segment};
use joulio_nvme_spec::Status;

const ENTRY: u64 = 8;

const MISALIGNED: Status = Status::PRP_OFFSET_INVALID.do_not_retry();

impl DataWalker {
    /// Finds the `len` bytes that PRP1 and PRP2 of a command describe; `len` is at least 1.
    #[inline]
    pub(super) fn walk(
        &mut self,
        guest: &GuestMemory,
        prp1: u64,
        prp2: u64,
        len: u32,
    ) -> Result<&[Segment], Status> {
        self.segments.clear();
        if !prp1.is_multiple_of(4) {
            return Err(MISALIGNED);
        }
        let len = u64::from(len);
        let first = len.min(PAGE - prp1 % PAGE);
        self.segments.push(guest.locate(prp1, first as usize)?);
        match len - first {
            0 => {}
            rest @ 1..=PAGE => self.page(guest, prp2, rest)?,
            rest => self.lists(guest, prp2, rest)?,
        }
        Ok(&self.segments)
    }

    /// Adds a page after the first, which begins at offset 0.
    fn page(&mut self, guest: &GuestMemory, prp: u64, len: u64) -> Result<(), Status> {
        if !prp.is_multiple_of(PAGE) {
            return Err(MISALIGNED);
        }
        self.add(guest.locate(prp, len as usize)?);
        Ok(())
    }

    /// Adds the pages of a list at `at` and of those chained to it. The first list may begin inside a page; the last
    /// entry of a page is the next list, unless it is the last entry of all. Each list but the first has 511 pages or
    /// more, so that the walk ends.
    fn lists(&mut self, guest: &GuestMemory, mut at: u64, mut rest: u64) -> Result<(), Status> {
        if !at.is_multiple_of(ENTRY) {
            return Err(MISALIGNED);
        }
        while rest > 0 {
            let room = (PAGE - at % PAGE) / ENTRY;
            let wanted = rest.div_ceil(PAGE);
            let here = if wanted > room { room - 1 } else { wanted };
            let read = if wanted > room { room } else { wanted };
            let bytes = (read * ENTRY) as usize;
            guest.read(at, &mut self.list[..bytes])?;
            for index in 0..here {
                let len = rest.min(PAGE);
                self.page(guest, self.entry(index), len)?;
                rest -= len;
            }
            if rest > 0 {
                at = self.entry(here);
                if !at.is_multiple_of(PAGE) {
                    return Err(MISALIGNED);
                }
            }
        }
        Ok(())
    }

    fn entry(&self, index: u64) -> u64 {
        let at = (index * ENTRY) as usize;
        let mut bytes = [0; ENTRY as usize];
        bytes.copy_from_slice(&self.list[at..at + ENTRY as usize]);
        u64::from_le_bytes(bytes)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use joulio_device::{Iova, SharedMemory};
    use std::sync::Arc;

    const BASE: u64 = 0x10_0000;

    fn guest() -> (GuestMemory, Arc<SharedMemory>) {
        let memory = Arc::new(SharedMemory::allocate(8 << 20).unwrap());
        let mut guest = GuestMemory::default();
        guest
            .map(Iova(BASE), Arc::clone(&memory), 0, 8 << 20, true)
            .unwrap();
        (guest, memory)
    }

    fn lens(walker: &mut DataWalker, guest: &GuestMemory, prps: [u64; 2], len: u32) -> Vec<usize> {
        let segments = walker.walk(guest, prps[0], prps[1], len).unwrap();
        segments.iter().map(|segment| segment.len()).collect()
    }

    #[test]
    fn neighbouring_pages_become_one_piece() {
        let (guest, _memory) = guest();
        let mut walker = DataWalker::new();
        let prps = [BASE + 0x200, BASE + 0x1000];
        assert_eq!(lens(&mut walker, &guest, prps, 4096), [4096]);
        let prps = [BASE + 0x200, BASE + 0x5000];
        assert_eq!(lens(&mut walker, &guest, prps, 4096), [0xe00, 0x200]);
    }

    #[test]
    fn a_second_page_is_not_read_when_the_first_holds_all() {
        let (guest, _memory) = guest();
        let prps = [BASE, u64::MAX];
        assert_eq!(lens(&mut DataWalker::new(), &guest, prps, 4096), [4096]);
    }

    #[test]
    fn the_last_entry_of_a_page_chains_only_when_more_follow() {
        let (guest, memory) = guest();
        let mut walker = DataWalker::new();
        // Two slots are left in the list's page. Two pages fit; a third needs a chain.
        let list = 0x1000 - 16;
        let put = |at: usize, page: u64| memory.write(at, &(BASE + page * PAGE).to_le_bytes());
        put(list, 10);
        put(list + 8, 12);
        let prps = [BASE + 8 * PAGE, BASE + list as u64];
        assert_eq!(
            lens(&mut walker, &guest, prps, 3 * 4096),
            [4096, 4096, 4096]
        );
        put(list + 8, 2);
        put(0x2000, 12);
        put(0x2008, 14);
        assert_eq!(
            lens(&mut walker, &guest, prps, 4 * 4096),
            [4096, 4096, 4096, 4096]
        );
    }

    #[test]
    fn a_first_list_may_hold_nothing_but_its_chain() {
        let (guest, memory) = guest();
        let list = 0x1000 - 8;
        memory.write(list, &(BASE + 2 * PAGE).to_le_bytes());
        memory.write(0x2000, &(BASE + 4 * PAGE).to_le_bytes());
        memory.write(0x2008, &(BASE + 5 * PAGE).to_le_bytes());
        let prps = [BASE + 8 * PAGE, BASE + list as u64];
        assert_eq!(
            lens(&mut DataWalker::new(), &guest, prps, 3 * 4096),
            [4096, 8192]
        );
    }

    #[test]
    fn offsets_where_none_may_be_are_refused() {
        let (guest, memory) = guest();
        memory.write(0, &(BASE + 4).to_le_bytes());
        let mut walker = DataWalker::new();
        for (prp1, prp2, len) in [
            (BASE + 2, 0, 512),
            (BASE + PAGE, BASE + PAGE + 512, 8192),
            (BASE + PAGE, BASE + 4, 3 * 4096),
            (BASE + PAGE, BASE, 3 * 4096),
        ] {
            let refused = walker.walk(&guest, prp1, prp2, len).unwrap_err();
            assert_eq!(refused, MISALIGNED, "{prp1:#x} {prp2:#x} {len}");
        }
    }

    #[test]
    fn a_list_that_chains_to_itself_ends_with_the_transfer() {
        let (guest, memory) = guest();
        for slot in 0..512 {
            memory.write(slot * 8, &BASE.to_le_bytes());
        }
        let mut walker = DataWalker::new();
        assert!(walker.walk(&guest, BASE, BASE, 64 << 20).is_ok());
    }

    #[test]
    fn what_is_not_mapped_is_a_data_transfer_error() {
        let (guest, _memory) = guest();
        let mut walker = DataWalker::new();
        for (prp1, prp2, len) in [
            (0, 0, 512),
            (BASE, 0, 8192),
            (BASE, 0, 3 * 4096),
            (u64::MAX - 3, 0, 512),
        ] {
            let refused = walker.walk(&guest, prp1, prp2, len).unwrap_err();
            assert_eq!(refused, Status::DATA_TRANSFER_ERROR);
        }
    }
}
