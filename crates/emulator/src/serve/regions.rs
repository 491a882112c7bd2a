//! DMA regions of a host, and their limits.

use super::options::ServeOptions;
use crate::guest::PAGE;
use crate::shared::Shared;
use joulio_device::{Iova, SharedMemory};
use joulio_vfio_user_wire::{DmaMap, DmaUnmap};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// Unmap all: the flag by the kernel's vfio.h (`VFIO_DMA_UNMAP_FLAG_ALL`), which some hosts use, and the one of
/// vfio-user.
const ALL: u32 = 1 << 1 | DmaUnmap::ALL;

/// A range that the host has mapped. Without a descriptor the controller cannot reach it.
#[derive(Clone, Copy, Debug)]
struct Range {
    first: u64,
    last: u64,
}

impl Range {
    /// Makes the range of `size` bytes at `address`: whole pages, inside the address space.
    fn new(address: u64, size: u64) -> Result<Range, Errno> {
        let pages = address.is_multiple_of(PAGE) && size.is_multiple_of(PAGE) && size > 0;
        let last = address.checked_add(size.wrapping_sub(1));
        match last {
            Some(last) if pages => Ok(Range {
                first: address,
                last,
            }),
            _ => Err(Errno::INVAL),
        }
    }

    fn bytes(self) -> u64 {
        self.last - self.first + 1
    }
}

/// The mapped regions, sorted.
#[derive(Debug)]
pub(super) struct Regions {
    ranges: Vec<Range>,
    bytes: u64,
    max_regions: usize,
    max_bytes: u64,
}

impl Regions {
    pub(super) fn new(options: &ServeOptions) -> Regions {
        Regions {
            ranges: Vec::new(),
            bytes: 0,
            max_regions: options.max_regions,
            max_bytes: options.max_bytes,
        }
    }

    pub(super) fn map(
        &mut self,
        shared: &Shared,
        requested: &DmaMap,
        fds: Vec<OwnedFd>,
    ) -> Result<(), Errno> {
        let access = requested.flags & (DmaMap::READ | DmaMap::WRITE);
        if access != requested.flags || access == 0 || fds.len() > 1 {
            return Err(Errno::INVAL);
        }
        let range = Range::new(requested.address, requested.size)?;
        let at = self.find(range.first);
        if self
            .ranges
            .get(at)
            .is_some_and(|next| next.first <= range.last)
        {
            return Err(Errno::EXIST);
        }
        // `bytes` is at most the limit, so that this cannot overflow.
        if self.ranges.len() >= self.max_regions || range.bytes() > self.max_bytes - self.bytes {
            return Err(Errno::NOSPC);
        }
        if let Some(fd) = fds.first() {
            reach(shared, requested, fd)?;
        }
        self.ranges.insert(at, range);
        self.bytes += range.bytes();
        Ok(())
    }

    /// Unmaps the regions inside the range; it is an error if a region is only partly inside.
    pub(super) fn unmap(&mut self, shared: &Shared, requested: &DmaUnmap) -> Result<(), Errno> {
        if requested.flags & ALL != 0 && requested.address == 0 && requested.size == 0 {
            for range in std::mem::take(&mut self.ranges) {
                let mut controller = shared.controller_first();
                controller.unmap(Iova(range.first), range.bytes() as usize);
            }
            self.bytes = 0;
            return Ok(());
        }
        if requested.flags != 0 {
            return Err(Errno::NOTSUP);
        }
        let range = Range::new(requested.address, requested.size)?;
        let from = self.find(range.first);
        let to = self
            .ranges
            .partition_point(|other| other.first <= range.last);
        let inside = |other: &Range| other.first >= range.first && other.last <= range.last;
        let found = &self.ranges[from..to];
        if found.is_empty() {
            return Err(Errno::NOENT);
        }
        if !found.iter().all(inside) {
            return Err(Errno::INVAL);
        }
        self.bytes -= found.iter().map(|other| other.bytes()).sum::<u64>();
        self.ranges.drain(from..to);
        // With the lock held no access is under way, and none comes after.
        let mut controller = shared.controller_first();
        controller.unmap(Iova(range.first), range.bytes() as usize);
        Ok(())
    }

    /// Returns the index of the first range that ends after `address`.
    fn find(&self, address: u64) -> usize {
        self.ranges.partition_point(|range| range.last < address)
    }
}

/// Maps memory for the controller that the host has sent a descriptor of.
fn reach(shared: &Shared, requested: &DmaMap, fd: &OwnedFd) -> Result<(), Errno> {
    let len = usize::try_from(requested.size).map_err(|_| Errno::INVAL)?;
    let writable = requested.flags & DmaMap::WRITE != 0;
    if !requested.offset.is_multiple_of(PAGE) {
        return Err(Errno::INVAL);
    }
    let memory = SharedMemory::from_file(fd.as_fd(), requested.offset, len, writable);
    let memory = Arc::new(memory.map_err(|error| errno(&error))?);
    let mut controller = shared.controller_first();
    let mapped = if writable {
        controller.map(Iova(requested.address), memory, 0, len)
    } else {
        controller.map_read_only(Iova(requested.address), memory, 0, len)
    };
    mapped.map_err(|_| Errno::INVAL)
}

/// Returns the errno of a reply for memory that was not mapped.
fn errno(error: &io::Error) -> Errno {
    match error.kind() {
        // It is not memory: `joulio serve --help` explains what is.
        io::ErrorKind::Unsupported => Errno::NOTSUP,
        _ => Errno::from_io_error(error).unwrap_or(Errno::INVAL),
    }
}
