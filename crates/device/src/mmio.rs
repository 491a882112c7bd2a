//! Device registers in a mapped BAR.
//!
//! Sound because every pointer is inside one mapping that an `Arc` keeps, each access is one of [`joulio_cpu::mmio`],
//! aligned and checked against the length, and no reference is made.

use crate::bus::{self, Fill, Guard};
use crate::{DeviceError, Doorbell};
use joulio_cpu::mmio;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;

/// A BAR, or a part of one, mapped into the process.
#[derive(Debug)]
pub(crate) struct MappedBar {
    base: NonNull<u8>,
    len: usize,
    /// Guard for when the device, or the end of the file, goes away. `None` only while it is being unmapped.
    guard: Option<Guard>,
}

// SAFETY: only volatile accesses through raw pointers.
unsafe impl Send for MappedBar {}
// SAFETY: as above.
unsafe impl Sync for MappedBar {}

impl MappedBar {
    /// Maps `range` of the file `fd`, both ends on pages.
    pub(crate) fn map(fd: BorrowedFd<'_>, range: Range<u64>) -> Result<MappedBar, DeviceError> {
        crate::iova::check_pages().map_err(|source| DeviceError::Os {
            what: "map the device's registers".into(),
            source,
        })?;
        let len = (range.end - range.start) as usize;
        // SAFETY: a new shared mapping, placed by the kernel.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                range.start as libc::off_t,
            )
        };
        let base = match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => base,
            _ => return Err(DeviceError::last_os("map the device's registers")),
        };
        let mut bar = MappedBar {
            base,
            len,
            guard: None,
        };
        let start = base.as_ptr() as usize;
        let guard = bus::guard(start..start + len, crate::iova::PAGE, Fill::Ones);
        bar.guard = Some(guard.map_err(|source| DeviceError::Os {
            what: "prepare for the device's removal (sigaction)".into(),
            source,
        })?);
        Ok(bar)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn at<T>(&self, offset: usize) -> *mut T {
        assert!(offset + size_of::<T>() <= self.len && offset.is_multiple_of(size_of::<T>()));
        // SAFETY: inside the mapping as checked.
        unsafe { self.base.as_ptr().add(offset).cast() }
    }

    pub(crate) fn read32(&self, offset: usize) -> u32 {
        // SAFETY: inside and aligned by `at`.
        unsafe { mmio::read32(self.at(offset)) }
    }

    pub(crate) fn write32(&self, offset: usize, value: u32) {
        // SAFETY: inside and aligned by `at`.
        unsafe { mmio::write32(self.at(offset), value) }
    }

    /// Reads a 64-bit register by two 32-bit accesses, low half first, which every controller must accept (PCIe 3.1.1);
    /// some bridges split a single 64-bit access in the other order.
    pub(crate) fn read64(&self, offset: usize) -> u64 {
        u64::from(self.read32(offset)) | u64::from(self.read32(offset + 4)) << 32
    }

    pub(crate) fn write64(&self, offset: usize, value: u64) {
        self.write32(offset, value as u32);
        self.write32(offset + 4, (value >> 32) as u32);
    }
}

impl Drop for MappedBar {
    fn drop(&mut self) {
        self.guard = None;
        // SAFETY: the mapping is ours; pointers into it are held only beside an `Arc` of it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// A doorbell in a mapped BAR.
#[derive(Debug)]
pub struct MmioDoorbell {
    at: NonNull<u32>,
    _bar: Arc<MappedBar>,
}

// SAFETY: a write-only register behind a volatile pointer into the mapping that `_bar` keeps.
unsafe impl Send for MmioDoorbell {}

impl MmioDoorbell {
    pub(crate) fn new(bar: &Arc<MappedBar>, offset: u32) -> Result<MmioDoorbell, DeviceError> {
        if offset as usize + 4 > bar.len() || !offset.is_multiple_of(4) {
            return Err(DeviceError::Doorbell {
                offset,
                size: bar.len(),
            });
        }
        Ok(MmioDoorbell {
            at: NonNull::new(bar.at(offset as usize)).expect("inside a mapping"),
            _bar: Arc::clone(bar),
        })
    }
}

impl Doorbell for MmioDoorbell {
    #[inline]
    fn ring(&self, value: u32) {
        // Orders the entries before the doorbell. SAFETY: inside the mapping that `_bar` keeps, aligned.
        unsafe { mmio::write32(self.at.as_ptr(), value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::os::fd::AsFd;

    #[test]
    fn registers_that_vanish_read_as_all_ones_and_writes_go_nowhere() {
        let file = memfd_create("bar", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 3 * 4096).unwrap();
        let bar = Arc::new(MappedBar::map(file.as_fd(), 0..3 * 4096).unwrap());
        bar.write32(0x1c, 7);
        bar.write64(0x2000, 9);
        assert_eq!((bar.read32(0x1c), bar.read64(0x2000)), (7, 9));
        ftruncate(&file, 4096).unwrap();
        let doorbell = MmioDoorbell::new(&bar, 0x1008).unwrap();
        doorbell.ring(3);
        assert_eq!(bar.read64(0x2000), u64::MAX);
        assert_eq!(bar.read32(0x1ffc), u32::MAX);
        // The other pages are still there.
        assert_eq!(bar.read32(0x1c), 7);
    }

    #[test]
    fn a_mapping_leaves_nothing_behind() {
        let file = memfd_create("bar", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 4096).unwrap();
        // More mappings than are guarded at the same time.
        for _ in 0..1000 {
            let bar = MappedBar::map(file.as_fd(), 0..4096).unwrap();
            ftruncate(&file, 0).unwrap();
            assert_eq!(bar.read32(0), u32::MAX);
            ftruncate(&file, 4096).unwrap();
        }
    }
}
