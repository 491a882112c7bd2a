//! The memory that the host has mapped for the controller.
//!
//! Every access gives an address in the controller's space, and is checked against the mapped regions before any byte
//! is accessed.

mod span;

use joulio_device::{Iova, SharedMemory};
use std::sync::Arc;

/// The mapping granule in bytes, which is also the memory page size of the controller (CAP.MPSMIN = MPSMAX = 0).
pub(crate) const PAGE: u64 = 4096;

/// Reason why memory cannot be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// Address, offset and length must be multiples of 4096, and the length not zero.
    #[error("DMA regions are made of whole 4 KiB pages")]
    NotPages,
    /// The range is not inside the memory, or wraps the address space.
    #[error("the DMA region does not lie inside its memory or its address space")]
    OutOfRange,
    /// Some of the addresses are mapped already.
    #[error("the DMA region overlaps one that is mapped")]
    Overlap,
}

/// An address range is not mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unmapped;

#[derive(Debug)]
struct Region {
    first: u64,
    last: u64,
    memory: Arc<SharedMemory>,
    offset: usize,
    /// Whether the controller may write it.
    writable: bool,
}

/// A checked range inside one region. Valid until the next map or unmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    region: usize,
    offset: usize,
    len: usize,
}

impl Segment {
    /// Returns the length in bytes.
    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// Appends `next` when it begins where this segment ends; `false` otherwise.
    pub(crate) fn extend(&mut self, next: Segment) -> bool {
        let adjacent = self.region == next.region && self.offset + self.len == next.offset;
        if adjacent {
            self.len += next.len;
        }
        adjacent
    }
}

/// The mapped regions, sorted by address.
#[derive(Debug, Default)]
pub(crate) struct GuestMemory {
    regions: Vec<Region>,
}

impl GuestMemory {
    /// Maps `len` bytes from `offset` of `memory` at `iova`.
    pub(crate) fn map(
        &mut self,
        iova: Iova,
        memory: Arc<SharedMemory>,
        offset: usize,
        len: usize,
        writable: bool,
    ) -> Result<(), MapError> {
        let granule = PAGE as usize;
        let pages = [offset, len].iter().all(|n| n.is_multiple_of(granule));
        if len == 0 || !pages || !iova.0.is_multiple_of(PAGE) {
            return Err(MapError::NotPages);
        }
        let inside = offset
            .checked_add(len)
            .is_some_and(|end| end <= memory.len());
        let last = iova.0.checked_add(len as u64 - 1);
        let (true, Some(last)) = (inside, last) else {
            return Err(MapError::OutOfRange);
        };
        let at = self.regions.partition_point(|region| region.last < iova.0);
        if self.regions.get(at).is_some_and(|next| next.first <= last) {
            return Err(MapError::Overlap);
        }
        let region = Region {
            first: iova.0,
            last,
            memory,
            offset,
            writable,
        };
        self.regions.insert(at, region);
        Ok(())
    }

    /// Removes every region that lies inside the `len` bytes from `iova`.
    pub(crate) fn unmap(&mut self, iova: Iova, len: usize) {
        let Some(last) = (len as u64)
            .checked_sub(1)
            .map(|n| iova.0.saturating_add(n))
        else {
            return;
        };
        self.regions
            .retain(|region| region.first < iova.0 || region.last > last);
    }

    /// Finds the `len` bytes at `address`, which must be in one region.
    #[inline]
    pub(crate) fn locate(&self, address: u64, len: usize) -> Result<Segment, Unmapped> {
        let next = self
            .regions
            .partition_point(|region| region.first <= address);
        let region = next.checked_sub(1).ok_or(Unmapped)?;
        let found = &self.regions[region];
        let room = found.last.checked_sub(address).ok_or(Unmapped)?;
        if (len as u64).saturating_sub(1) > room {
            return Err(Unmapped);
        }
        Ok(Segment {
            region,
            offset: found.offset + (address - found.first) as usize,
            len,
        })
    }

    /// Whether every page of the `len` bytes at `address` is mapped.
    pub(crate) fn covers(&self, address: u64, len: u64) -> bool {
        let Some(last) = len.checked_sub(1).and_then(|n| address.checked_add(n)) else {
            return false;
        };
        let mut page = address;
        loop {
            if self.locate(page, 1).is_err() {
                return false;
            }
            match (page - page % PAGE).checked_add(PAGE) {
                Some(next) if next <= last => page = next,
                _ => return true,
            }
        }
    }

    /// Returns the memory of a segment, and the segment's offset in it.
    #[inline]
    pub(crate) fn memory(&self, segment: Segment) -> (&SharedMemory, usize) {
        (&self.regions[segment.region].memory, segment.offset)
    }

    /// Whether the controller may write all of `segments`.
    #[inline]
    pub(crate) fn writable(&self, segments: &[Segment]) -> bool {
        segments
            .iter()
            .all(|segment| self.regions[segment.region].writable)
    }

    /// Removes every region.
    pub(crate) fn clear(&mut self) {
        self.regions.clear();
    }

    /// Returns the memory that contains the whole page at `address`, readable and writable, and the page's offset in
    /// it.
    pub(crate) fn page(&self, address: u64) -> Result<(Arc<SharedMemory>, usize), Unmapped> {
        let segment = self.locate(address, PAGE as usize)?;
        let region = &self.regions[segment.region];
        if !region.writable {
            return Err(Unmapped);
        }
        Ok((Arc::clone(&region.memory), segment.offset))
    }

    /// Copies from `address`.
    pub(crate) fn read(&self, address: u64, to: &mut [u8]) -> Result<(), Unmapped> {
        let (memory, offset) = self.memory(self.locate(address, to.len())?);
        memory.read(offset, to);
        Ok(())
    }

    /// Copies to `address`, which the controller may write.
    pub(crate) fn write(&self, address: u64, from: &[u8]) -> Result<(), Unmapped> {
        let segment = self.locate(address, from.len())?;
        if !self.writable(&[segment]) {
            return Err(Unmapped);
        }
        let (memory, offset) = self.memory(segment);
        memory.write(offset, from);
        Ok(())
    }

    /// Stores an aligned little-endian word with release ordering.
    pub(crate) fn store_word(&self, address: u64, value: u32) -> Result<(), Unmapped> {
        if !address.is_multiple_of(4) {
            return Err(Unmapped);
        }
        let segment = self.locate(address, 4)?;
        if !self.writable(&[segment]) {
            return Err(Unmapped);
        }
        let (memory, offset) = self.memory(segment);
        memory.store_u32(offset, value.to_le());
        Ok(())
    }

    /// Copies `from` to `segments` in turn, until either ends.
    pub(crate) fn scatter(&self, segments: &[Segment], mut from: &[u8]) {
        for &segment in segments {
            let (memory, offset) = self.memory(segment);
            let (piece, rest) = from.split_at(segment.len().min(from.len()));
            memory.write(offset, piece);
            from = rest;
        }
    }

    /// Copies `segments` in turn to `to`, until either ends.
    pub(crate) fn gather(&self, segments: &[Segment], mut to: &mut [u8]) {
        for &segment in segments {
            let (memory, offset) = self.memory(segment);
            let (piece, rest) = to.split_at_mut(segment.len().min(to.len()));
            memory.read(offset, piece);
            to = rest;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn guest(regions: &[(u64, usize)]) -> GuestMemory {
        let mut guest = GuestMemory::default();
        for &(iova, len) in regions {
            let memory = Arc::new(SharedMemory::allocate(len).unwrap());
            guest.map(Iova(iova), memory, 0, len, true).unwrap();
        }
        guest
    }

    #[test]
    fn an_access_must_lie_in_one_mapped_region() {
        let guest = guest(&[(0x3000, 0x1000), (0x1000, 0x1000)]);
        assert!(guest.locate(0x1000, 0x1000).is_ok());
        assert!(guest.locate(0x1fff, 1).is_ok());
        for (address, len) in [
            (0, 1),
            (0xfff, 2),
            (0x1fff, 2),
            (0x2000, 1),
            (0x4000, 1),
            (u64::MAX, 1),
        ] {
            assert_eq!(guest.locate(address, len), Err(Unmapped), "{address:#x}");
        }
    }

    #[test]
    fn the_last_page_of_the_address_space_is_a_page_like_any_other() {
        let guest = guest(&[(u64::MAX - 0xfff, 0x1000)]);
        assert!(guest.locate(u64::MAX, 1).is_ok());
        assert_eq!(guest.locate(u64::MAX, 2), Err(Unmapped));
        assert!(guest.covers(u64::MAX - 0xfff, 0x1000));
        assert!(!guest.covers(u64::MAX - 0xfff, 0x1001));
    }

    #[test]
    fn coverage_may_span_regions_but_not_a_hole() {
        let guest = guest(&[(0x1000, 0x1000), (0x2000, 0x1000), (0x5000, 0x1000)]);
        assert!(guest.covers(0x1004, 0x1ff0));
        assert!(!guest.covers(0x2000, 0x4000));
        assert!(!guest.covers(0x1000, 0));
    }

    #[test]
    fn overlapping_and_uneven_regions_are_refused() {
        let mut guest = guest(&[(0x2000, 0x2000)]);
        let memory = Arc::new(SharedMemory::allocate(0x2000).unwrap());
        let mut map =
            |iova, offset, len| guest.map(Iova(iova), Arc::clone(&memory), offset, len, true);
        assert_eq!(map(0x1000, 0, 0x2000), Err(MapError::Overlap));
        assert_eq!(map(0x3000, 0, 0x1000), Err(MapError::Overlap));
        assert_eq!(map(0x1004, 0, 0x1000), Err(MapError::NotPages));
        assert_eq!(map(0x1000, 0, 0), Err(MapError::NotPages));
        assert_eq!(map(0x8000, 0x1000, 0x2000), Err(MapError::OutOfRange));
        assert_eq!(map(u64::MAX - 0xfff, 0, 0x2000), Err(MapError::OutOfRange));
        assert_eq!(map(0x4000, 0, 0x1000), Ok(()));
        assert_eq!(map(0x1000, 0x1000, 0x1000), Ok(()));
    }

    #[test]
    fn what_is_unmapped_is_out_of_reach() {
        let mut guest = guest(&[(0x1000, 0x1000), (0x2000, 0x1000)]);
        guest.unmap(Iova(0x1000), 0x1000);
        assert_eq!(guest.locate(0x1000, 4), Err(Unmapped));
        assert!(guest.locate(0x2000, 4).is_ok());
    }
}
