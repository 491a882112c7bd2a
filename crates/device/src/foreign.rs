//! Memory that is a file: one of ours that another process shall map, or one of another process.
//!
//! A mapping of somebody else's file has a trap: when the file is truncated, an access beyond its
//! new end is a SIGBUS; one to a hole in a file of huge pages may be too. The size is checked when
//! the file is mapped; for what happens later [`crate::bus`] answers the signal with a page of
//! zeroes, so that only the file's owner loses by it.

use crate::DeviceError;
use crate::memory::{PageKind, SharedMemory};
use rustix::fs::{
    FileType, MemfdFlags, SealFlags, fcntl_add_seals, fstat, fstatfs, ftruncate, memfd_create,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// `HUGETLBFS_MAGIC` of linux/magic.h.
const HUGETLBFS: i64 = 0x9584_58f6;

impl SharedMemory {
    /// Zeroed memory of at least `len` bytes that another process can map by the descriptor, and
    /// cannot resize.
    pub fn shareable(len: usize) -> Result<(SharedMemory, OwnedFd), DeviceError> {
        let len = len.max(1).next_multiple_of(crate::iova::PAGE);
        let make = || -> io::Result<(SharedMemory, OwnedFd)> {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let file = memfd_create("joulio", flags)?;
            ftruncate(&file, len as u64)?;
            fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
            let memory = SharedMemory::map_file(
                file.as_fd(),
                0,
                len,
                libc::MAP_SHARED,
                PageKind::Ordinary,
                crate::iova::PAGE,
            )?;
            Ok((memory, file))
        };
        make().map_err(|source| DeviceError::Memory {
            wanted: len,
            source,
        })
    }

    /// `len` bytes from `offset` of a file that another process handed over: of a regular file
    /// (a memfd is one) that holds them all. At least `len`: whole pages of the file.
    ///
    /// Where it is not `writable`, what this side writes stays in this side's copy.
    pub fn from_file(
        file: BorrowedFd<'_>,
        offset: u64,
        len: usize,
        writable: bool,
    ) -> io::Result<SharedMemory> {
        let stat = fstat(file)?;
        // A device or a file system in user space could make an access wait for ever.
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file or memfd",
            ));
        }
        let end = offset.checked_add(len as u64);
        if len == 0 || end.is_none_or(|end| end > stat.st_size.cast_unsigned()) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the file does not hold the range",
            ));
        }
        let system = fstatfs(file)?;
        let huge = system.f_type == HUGETLBFS;
        let (page, pages) = if huge {
            let page = usize::try_from(system.f_bsize).unwrap_or(crate::iova::PAGE);
            (page.max(crate::iova::PAGE), PageKind::Huge)
        } else {
            (crate::iova::PAGE, PageKind::Ordinary)
        };
        let flags = if writable {
            libc::MAP_SHARED
        } else {
            libc::MAP_PRIVATE
        };
        let len = len
            .checked_next_multiple_of(page)
            .ok_or(io::ErrorKind::InvalidInput)?;
        let flags = flags | libc::MAP_NORESERVE;
        SharedMemory::map_file(file, offset, len, flags, pages, page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn both_sides_see_what_either_writes() {
        let (ours, file) = SharedMemory::shareable(100).unwrap();
        let theirs = SharedMemory::from_file(file.as_fd(), 0, 4096, true).unwrap();
        ours.store_u32(8, 7);
        assert_eq!(theirs.load_u32(8), 7);
        theirs.store_u32(12, 9);
        assert_eq!(ours.load_u32(12), 9);
    }

    #[test]
    fn what_is_not_writable_stays_as_it_is() {
        let (ours, file) = SharedMemory::shareable(4096).unwrap();
        let theirs = SharedMemory::from_file(file.as_fd(), 0, 4096, false).unwrap();
        ours.store_u32(0, 5);
        assert_eq!(theirs.load_u32(0), 5);
        theirs.store_u32(0, 6);
        assert_eq!(ours.load_u32(0), 5);
    }

    #[test]
    fn the_other_side_cannot_resize_ours() {
        let (_ours, file) = SharedMemory::shareable(4096).unwrap();
        assert!(ftruncate(&file, 0).is_err());
        assert!(ftruncate(&file, 1 << 20).is_err());
    }

    #[test]
    fn only_ranges_that_the_file_holds_are_mapped() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let map = |offset, len| SharedMemory::from_file(file.as_fd(), offset, len, true);
        assert!(map(0, 8192).is_ok());
        for (offset, len) in [
            (0, 12288),
            (8192, 4096),
            (u64::MAX, 1),
            (0, 0),
            (0, usize::MAX),
        ] {
            assert!(map(offset, len).is_err(), "{offset} {len}");
        }
        let zero = File::open("/dev/zero").unwrap();
        assert!(SharedMemory::from_file(zero.as_fd(), 0, 4096, true).is_err());
    }

    #[test]
    fn a_file_truncated_under_a_mapping_reads_as_zeroes() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let memory = SharedMemory::from_file(file.as_fd(), 0, 8192, true).unwrap();
        memory.write(0, &[7; 8192]);
        file.set_len(4096).unwrap();
        let mut back = [1; 8192];
        memory.read(0, &mut back);
        assert!(back[..4096].iter().all(|&byte| byte == 7));
        assert!(back[4096..].iter().all(|&byte| byte == 0));
        memory.store_u32(4096, 3);
        assert_eq!(memory.load_u32(4096), 3);
    }
}
