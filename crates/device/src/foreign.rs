//! Memory in a file: a file of ours that another process is to map, or one of another process.
//!
//! When another process truncates its file, an access to our mapping beyond the new end raises SIGBUS; an access to a
//! hole in a file of huge pages may do so too. The size is checked when the file is mapped; if it changes later,
//! [`crate::bus`] handles the signal with a page of zeroes, so that only the file's owner loses data.

use crate::{DeviceError, PageKind, SharedMemory};
use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate,
    memfd_create,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// `HUGETLBFS_MAGIC` of linux/magic.h.
const HUGETLBFS: i64 = 0x9584_58f6;

impl SharedMemory {
    /// Allocates zeroed memory of at least `len` bytes that another process can map by the descriptor, and cannot
    /// resize.
    ///
    /// # Errors
    /// [`DeviceError::Memory`] when the kernel has no memory or no descriptor left.
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

    /// Maps at least `len` bytes from `offset` of a file that another process handed over, in whole pages. The file
    /// must contain them all and be on tmpfs (as a memfd is) or hugetlbfs.
    ///
    /// Unless `writable`, writes of this side go to a private copy.
    ///
    /// # Errors
    /// `Unsupported` when the file is of another file system, `InvalidInput` when it does not hold
    /// the range, and the kernel's error when it cannot be mapped.
    pub fn from_file(
        file: BorrowedFd<'_>,
        offset: u64,
        len: usize,
        writable: bool,
    ) -> io::Result<SharedMemory> {
        if !is_memory(file) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "a file of another file system than tmpfs (memfd, /dev/shm) and hugetlbfs: \
                 an access to it could wait for ever",
            ));
        }
        let stat = fstat(file)?;
        let end = offset.checked_add(len as u64);
        if len == 0 || end.is_none_or(|end| end > stat.st_size.cast_unsigned()) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the file does not hold the range",
            ));
        }
        let (page, pages) = match huge_page(file)? {
            Some(page) => (page, PageKind::Huge),
            None => (crate::iova::PAGE, PageKind::Ordinary),
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

/// Whether the pages of `file` are memory: it is a regular file of tmpfs or hugetlbfs. An access to a file of another
/// file system may wait for ever, for a process (FUSE) or a network; and so may asking which file system it is
/// (fstatfs(2)). Only files of these two can be sealed: fcntl(2), F_GET_SEALS, which the kernel answers without the
/// file system.
pub(crate) fn is_memory(file: BorrowedFd<'_>) -> bool {
    fcntl_get_seals(file).is_ok()
}

/// Returns the page size in bytes of `file`, which is memory, if its pages are huge.
pub(crate) fn huge_page(file: BorrowedFd<'_>) -> io::Result<Option<usize>> {
    let system = fstatfs(file)?;
    let page = usize::try_from(system.f_bsize).unwrap_or(crate::iova::PAGE);
    Ok((system.f_type == HUGETLBFS).then_some(page.max(crate::iova::PAGE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    /// A file that its owner can truncate.
    fn in_memory(len: u64) -> File {
        let file = File::from(memfd_create("file", MemfdFlags::CLOEXEC).unwrap());
        file.set_len(len).unwrap();
        file
    }

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
        let file = in_memory(8192);
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
    fn a_file_of_another_file_system_is_not_mapped_and_the_error_says_so() {
        let others = [
            File::open("/sys/devices/system/cpu/online").unwrap(),
            File::open(std::env::current_exe().unwrap()).unwrap(),
        ];
        // A build directory may be on tmpfs.
        for file in others.iter().filter(|file| !is_memory(file.as_fd())) {
            let error = SharedMemory::from_file(file.as_fd(), 0, 4096, false).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert!(error.to_string().contains("tmpfs"), "{error}");
        }
        assert!(!is_memory(others[0].as_fd()));
        assert!(is_memory(in_memory(0).as_fd()));
    }

    #[test]
    fn a_file_truncated_under_a_mapping_reads_as_zeroes() {
        let file = in_memory(8192);
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
