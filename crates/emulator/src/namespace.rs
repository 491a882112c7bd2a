//! A namespace: blocks in a store.

use crate::error::EmulatorError;
use crate::guest::{GuestMemory, Segment};
use crate::options::{NamespaceOptions, StoreOptions};
use crate::store::{Backing, Store, Syncing};
use joulio_model::DeviceProfile;
use joulio_nvme_spec::{DsmRange, Status};
use rustix::io::Errno;
use std::io;

/// A namespace: blocks in a store.
#[derive(Debug)]
pub(crate) struct Namespace {
    store: Store,
    /// Log2 of the logical block size (LBADS).
    block_shift: u8,
    blocks: u64,
}

impl Namespace {
    /// Opens the store of a namespace and checks its size.
    pub(crate) fn open(
        options: &NamespaceOptions,
        profile: &DeviceProfile,
        prealloc: bool,
        syncing: Syncing,
    ) -> Result<Namespace, EmulatorError> {
        let block = options.block.unwrap_or(profile.lba.default_bytes);
        if block != 512 && block != 4096 {
            return Err(EmulatorError::BlockSize { bytes: block });
        }
        // Before a file of that size is made.
        if let Some(bytes) = options.store.bytes() {
            check_size(bytes, block, &options.store)?;
        }
        let (store, bytes) = Store::open(&options.store, profile.capacity(), prealloc, syncing)?;
        check_size(bytes, block, &options.store)?;
        Ok(Namespace {
            store,
            block_shift: block.ilog2() as u8,
            blocks: bytes / u64::from(block),
        })
    }

    /// Returns log2 of the logical block size.
    pub(crate) fn block_shift(&self) -> u8 {
        self.block_shift
    }

    /// Returns the size in logical blocks.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.blocks << self.block_shift
    }

    /// Whether the namespace refuses writes.
    pub(crate) fn write_protected(&self) -> bool {
        self.store.read_only()
    }

    /// Whether written data may be lost until it is flushed.
    pub(crate) fn is_volatile(&self) -> bool {
        self.store.volatile().is_some()
    }

    /// Returns the file, if written data may be lost until the file is synced.
    pub(crate) fn volatile(&self) -> Option<Backing> {
        self.store.volatile().cloned()
    }

    /// Returns the offset in the store, in bytes, of `blocks` blocks from `slba`; `None` unless all are inside.
    pub(crate) fn position(&self, slba: u64, blocks: u32) -> Option<u64> {
        let end = slba.checked_add(u64::from(blocks))?;
        (end <= self.blocks).then(|| slba << self.block_shift)
    }

    /// Reads from byte `position` into `segments`.
    #[inline]
    pub(crate) fn read(
        &self,
        position: u64,
        guest: &GuestMemory,
        segments: &[Segment],
    ) -> Result<(), Status> {
        self.store
            .read(position, guest, segments)
            .map_err(read_status)
    }

    /// Writes `segments` from byte `position` on.
    #[inline]
    pub(crate) fn write(
        &self,
        position: u64,
        guest: &GuestMemory,
        segments: &[Segment],
    ) -> Result<(), Status> {
        self.refuse_if_protected()?;
        self.store
            .write(position, guest, segments)
            .map_err(Namespace::write_status)
    }

    /// Compares the bytes from `position` on with those of `segments`; true if they are equal.
    pub(crate) fn compare(
        &self,
        position: u64,
        guest: &GuestMemory,
        segments: &[Segment],
    ) -> Result<(), Status> {
        let same = self.store.compare(position, guest, segments);
        if !same.map_err(read_status)? {
            return Err(Status::COMPARE_FAILURE);
        }
        Ok(())
    }

    /// Reads `len` bytes from byte `position`, and discards them.
    pub(crate) fn verify(&self, position: u64, len: u32) -> Result<(), Status> {
        self.store.verify(position, len.into()).map_err(read_status)
    }

    /// Zeroes `len` bytes from byte `position` on, or deallocates them when `deallocate`.
    pub(crate) fn write_zeroes(
        &self,
        position: u64,
        len: u32,
        deallocate: bool,
    ) -> Result<(), Status> {
        self.refuse_if_protected()?;
        self.store
            .zero(position, len.into(), deallocate)
            .map_err(Namespace::write_status)
    }

    /// Deallocates `ranges`, which are inside the namespace or empty. Deallocated blocks read as zeroes.
    pub(crate) fn deallocate(&self, ranges: &[DsmRange]) -> Result<(), Status> {
        self.refuse_if_protected()?;
        for range in ranges {
            let (slba, blocks) = (range.slba.get(), range.blocks.get());
            if let Some(position) = self.position(slba, blocks) {
                let len = u64::from(blocks) << self.block_shift;
                self.store
                    .deallocate(position, len)
                    .map_err(Namespace::write_status)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn refuse_if_protected(&self) -> Result<(), Status> {
        if self.write_protected() {
            return Err(Status::NAMESPACE_WRITE_PROTECTED.do_not_retry());
        }
        Ok(())
    }

    /// Returns the status of a failed write: a host file system without room is a namespace without room, and memory of
    /// the host that is gone cannot be transferred; any other error is one of the medium.
    pub(crate) fn write_status(error: io::Error) -> Status {
        match error.kind() {
            _ if is_of_memory(&error) => Status::DATA_TRANSFER_ERROR,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Status::CAPACITY_EXCEEDED.do_not_retry()
            }
            _ => Status::WRITE_FAULT,
        }
    }
}

/// Returns the status of a failed read: whatever else than the host's memory failed, the medium cannot be read.
fn read_status(error: io::Error) -> Status {
    if is_of_memory(&error) {
        Status::DATA_TRANSFER_ERROR
    } else {
        Status::UNRECOVERED_READ
    }
}

/// Whether the host's memory was not there: a host can shrink it at any time.
fn is_of_memory(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::FAULT)
}

/// Checks that a namespace of `bytes` bytes is whole blocks.
fn check_size(bytes: u64, block: u32, store: &StoreOptions) -> Result<(), EmulatorError> {
    if bytes != 0 && bytes.is_multiple_of(u64::from(block)) {
        return Ok(());
    }
    Err(EmulatorError::Size {
        path: store.path().map(Into::into),
        bytes,
        block,
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn namespace(bytes: u64, block: u32) -> Result<Namespace, EmulatorError> {
        let options = NamespaceOptions {
            store: StoreOptions::Ram { bytes: Some(bytes) },
            block: Some(block),
        };
        Namespace::open(
            &options,
            &DeviceProfile::builtin("instant").unwrap(),
            false,
            Syncing::usual(),
        )
    }

    #[test]
    fn a_namespace_is_whole_blocks_and_at_least_one() {
        assert_eq!(namespace(8192, 4096).unwrap().blocks(), 2);
        for (bytes, block) in [(0, 512), (4095, 512), (6144, 4096)] {
            let refused = namespace(bytes, block);
            assert!(matches!(refused, Err(EmulatorError::Size { .. })));
        }
        assert!(matches!(
            namespace(8192, 1024),
            Err(EmulatorError::BlockSize { bytes: 1024 })
        ));
    }

    #[test]
    fn a_size_that_cannot_be_leaves_no_file_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        let sized = |bytes| {
            let options = NamespaceOptions {
                store: StoreOptions::File {
                    path: path.clone(),
                    bytes,
                    read_only: false,
                },
                block: Some(512),
            };
            let profile = DeviceProfile::builtin("instant").unwrap();
            Namespace::open(&options, &profile, false, Syncing::usual())
        };
        let refused = sized(Some(1000)).unwrap_err().to_string();
        assert!(refused.starts_with(path.to_str().unwrap()), "{refused}");
        assert!(refused.ends_with("choose a multiple of 512"), "{refused}");
        assert!(!path.exists());
        assert_eq!(sized(Some(1024)).unwrap().blocks(), 2);
        // The size of a file that exists is checked too.
        std::fs::write(&path, [0_u8; 1000]).unwrap();
        let refused = sized(None);
        assert!(matches!(refused, Err(EmulatorError::Size { .. })));
    }

    #[test]
    fn only_ranges_inside_have_a_position() {
        let namespace = namespace(8192, 512).unwrap();
        assert_eq!(namespace.position(15, 1), Some(7680));
        assert_eq!(namespace.position(0, 16), Some(0));
        assert_eq!(namespace.position(15, 2), None);
        assert_eq!(namespace.position(u64::MAX, 1), None);
    }

    #[test]
    fn a_full_file_system_is_capacity_exceeded() {
        let full = io::Error::from_raw_os_error(28);
        assert_eq!(
            Namespace::write_status(full).kind(),
            Status::CAPACITY_EXCEEDED
        );
        let broken = io::Error::from_raw_os_error(5);
        assert_eq!(Namespace::write_status(broken).kind(), Status::WRITE_FAULT);
    }

    #[test]
    fn memory_of_the_host_that_is_gone_is_no_error_of_the_medium() {
        let gone = || io::Error::from_raw_os_error(14);
        assert_eq!(read_status(gone()), Status::DATA_TRANSFER_ERROR);
        let written = Namespace::write_status(gone());
        assert_eq!(written, Status::DATA_TRANSFER_ERROR);
        let broken = io::Error::from_raw_os_error(5);
        assert_eq!(read_status(broken), Status::UNRECOVERED_READ);
    }
}
