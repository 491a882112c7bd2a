//! Ranges that may span several regions.

use super::{GuestMemory, Segment, Unmapped};

impl GuestMemory {
    /// Iterates over the regions' parts of the `len` bytes at `address`; ends with an error where one is not mapped.
    pub(crate) fn pieces(
        &self,
        address: u64,
        mut len: u64,
    ) -> impl Iterator<Item = Result<Segment, Unmapped>> {
        let mut address = Some(address);
        std::iter::from_fn(move || {
            let more = len.checked_sub(1)?;
            let piece = address.ok_or(Unmapped).and_then(|at| self.piece(at, more));
            let taken = piece.map_or(len, |piece| piece.len() as u64);
            len -= taken;
            address = address.and_then(|at| at.checked_add(taken));
            Some(piece)
        })
    }

    /// Returns the byte at `address` with as many of the `more` bytes after it as are in its region.
    fn piece(&self, address: u64, more: u64) -> Result<Segment, Unmapped> {
        let next = self
            .regions
            .partition_point(|region| region.first <= address);
        let region = next.checked_sub(1).ok_or(Unmapped)?;
        let found = &self.regions[region];
        let room = found.last.checked_sub(address).ok_or(Unmapped)?;
        Ok(Segment {
            region,
            offset: found.offset + (address - found.first) as usize,
            len: more.min(room) as usize + 1,
        })
    }

    /// Copies from `address`; the range may span several regions.
    pub(crate) fn read_pieces(&self, address: u64, mut to: &mut [u8]) -> Result<(), Unmapped> {
        for piece in self.pieces(address, to.len() as u64) {
            let piece = piece?;
            let (memory, offset) = self.memory(piece);
            let (here, rest) = to.split_at_mut(piece.len());
            memory.read(offset, here);
            to = rest;
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use joulio_device::{Iova, SharedMemory};
    use std::sync::Arc;

    fn guest(regions: &[(u64, usize)]) -> GuestMemory {
        let mut guest = GuestMemory::default();
        for &(iova, len) in regions {
            let memory = Arc::new(SharedMemory::allocate(len).unwrap());
            memory.write(0, &vec![(iova >> 12) as u8; len]);
            guest.map(Iova(iova), memory, 0, len, true).unwrap();
        }
        guest
    }

    fn lens(guest: &GuestMemory, address: u64, len: u64) -> Result<Vec<usize>, Unmapped> {
        let pieces = guest.pieces(address, len);
        pieces.map(|piece| piece.map(Segment::len)).collect()
    }

    #[test]
    fn a_range_is_cut_where_regions_meet() {
        let guest = guest(&[(0x1000, 0x1000), (0x2000, 0x2000), (0x5000, 0x1000)]);
        assert_eq!(lens(&guest, 0x1f00, 0x200), Ok(vec![0x100, 0x100]));
        assert_eq!(lens(&guest, 0x1000, 0x3000), Ok(vec![0x1000, 0x2000]));
        assert_eq!(lens(&guest, 0x1000, 0), Ok(vec![]));
        assert_eq!(lens(&guest, 0x3f00, 0x200), Err(Unmapped));
        assert_eq!(lens(&guest, 0, 0x2000), Err(Unmapped));
        let mut bytes = [0; 4];
        guest.read_pieces(0x1ffe, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 1, 2, 2]);
    }

    #[test]
    fn a_range_that_wraps_the_address_space_is_not_there() {
        let guest = guest(&[(0, 0x1000), (u64::MAX - 0xfff, 0x1000)]);
        assert_eq!(lens(&guest, u64::MAX - 0xff, 0x100), Ok(vec![0x100]));
        assert_eq!(lens(&guest, u64::MAX - 0xff, 0x101), Err(Unmapped));
        assert_eq!(lens(&guest, u64::MAX, u64::MAX), Err(Unmapped));
    }
}
