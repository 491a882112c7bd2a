//! A region of the device: the parts that can be mapped, and those that are accessed by messages.

use super::session::Session;
use crate::DeviceError;
use crate::foreign::huge_page;
use crate::mmio::MappedBar;
use joulio_vfio_user_wire::{CapabilityHeader, RegionInfo, SparseArea, SparseHeader, command};
use rustix::fs::fstat;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use zerocopy::FromBytes;

/// A region, with all parts mapped that the peer allows.
pub(super) struct Region {
    pub(super) size: u64,
    windows: Vec<Window>,
}

struct Window {
    start: u64,
    bar: Arc<MappedBar>,
}

const PAGE: u64 = 4096;

impl Region {
    pub(super) fn open(session: &Session, index: u32) -> Result<Region, DeviceError> {
        let malformed = |problem: &str| {
            session.link.malformed(
                command::DEVICE_GET_REGION_INFO,
                format!("region {index}: {problem}"),
            )
        };
        let (answer, files) = session.region_info(index)?;
        let (info, _) =
            RegionInfo::read_from_prefix(&answer).map_err(|_| malformed("it is too short"))?;
        if info.index != index {
            return Err(malformed("it is about another region").into());
        }
        let mut region = Region {
            size: info.size,
            windows: Vec::new(),
        };
        // Without a file there is nothing to map, whatever the flags say. A file that is not memory could make an
        // access wait for ever. In a truncated file of huge pages, a missing page could not be replaced by another. In
        // those cases messages are used.
        let file = files.into_memory();
        let file = file.filter(|file| matches!(huge_page(file.as_fd()), Ok(None)));
        if let Some(file) = file.filter(|_| info.flags & RegionInfo::MMAP != 0) {
            let areas = areas(&info, &answer).map_err(&malformed)?;
            for area in areas {
                check(&info, &area, &file).map_err(&malformed)?;
                let start = info.offset + area.offset;
                region.windows.push(Window {
                    start: area.offset,
                    bar: Arc::new(MappedBar::map(file.as_fd(), start..start + area.size)?),
                });
            }
        }
        Ok(region)
    }

    /// Returns the mapping that contains all `len` bytes at `offset`, and where in it they are.
    pub(super) fn mapped(&self, offset: u64, len: u64) -> Option<(&Arc<MappedBar>, usize)> {
        self.windows.iter().find_map(|window| {
            let at = offset.checked_sub(window.start)?;
            let end = at.checked_add(len)?;
            (end <= window.bar.len() as u64).then_some((&window.bar, at as usize))
        })
    }
}

/// Returns the areas that can be mapped: those of the sparse capability, or else the whole region.
fn areas(info: &RegionInfo, answer: &[u8]) -> Result<Vec<SparseArea>, &'static str> {
    if info.argsz as usize > answer.len() {
        return Err("more capabilities than a controller needs");
    }
    let mut next = match info.flags & RegionInfo::CAPABILITIES {
        0 => 0,
        _ => info.capabilities as usize,
    };
    let mut before = 0;
    while next != 0 {
        // Offsets only increase, so that a chain with a loop ends here.
        if next <= before {
            return Err("its capabilities do not end");
        }
        before = next;
        let here = answer.get(next..).unwrap_or_default();
        let (head, rest) =
            CapabilityHeader::read_from_prefix(here).map_err(|_| "a capability outside of it")?;
        next = head.next as usize;
        if head.id == CapabilityHeader::SPARSE_MMAP {
            let (sparse, rest) =
                SparseHeader::read_from_prefix(rest).map_err(|_| "a capability cut short")?;
            let areas = rest.chunks_exact(SparseArea::BYTES);
            if areas.len() < sparse.areas as usize {
                return Err("fewer areas than it says");
            }
            return Ok(areas
                .take(sparse.areas as usize)
                .filter_map(|area| SparseArea::read_from_bytes(area).ok())
                .filter(|area| area.size > 0)
                .collect());
        }
    }
    Ok(vec![SparseArea {
        offset: 0,
        size: info.size,
    }])
}

/// Checks that `area` can be mapped and lies inside the file: an access beyond its end would raise SIGBUS.
fn check(info: &RegionInfo, area: &SparseArea, file: &OwnedFd) -> Result<(), &'static str> {
    let end = area.offset.checked_add(area.size);
    if end.is_none_or(|end| end > info.size) {
        return Err("an area beyond its end");
    }
    let start = info.offset.checked_add(area.offset);
    let end = start.and_then(|start| start.checked_add(area.size));
    let (Some(start), Some(end)) = (start, end) else {
        return Err("an area beyond every file");
    };
    // Aligned both to pages of the file, to be mapped, and to words of the region: registers are accessed by whole
    // words.
    let places = [start, area.offset, area.size];
    if places.iter().any(|place| !place.is_multiple_of(PAGE)) {
        return Err("an area that is not aligned to pages of 4096 bytes");
    }
    let stat = fstat(file).map_err(|_| "a file without readable attributes")?;
    if end > stat.st_size as u64 {
        return Err("a file that is too short for it");
    }
    Ok(())
}
