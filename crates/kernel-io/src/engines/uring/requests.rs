//! Forms of a request as an entry of a ring, and of its result.

use super::raw_ring::setup;
use crate::{DirectFile, FileKind, KernelEngineError, KernelRequestError, slots, trim::PUNCH_HOLE};
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fd, FsyncFlags};
use io_uring::{IoUring, cqueue, opcode, squeue};
use joulio_engine::Request;
use joulio_job::EngineName;
use joulio_units::Operation;
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// An empty ring.
pub(super) type RawRing<R> = IoUring<<R as Requests>::Entry, <R as Requests>::End>;

/// BLOCK_URING_CMD_DISCARD (include/uapi/linux/blkdev.h, since Linux 6.12): the first word of the command is the
/// length of the range, the address is its offset.
const DISCARD: u32 = 0x1200;

/// Requests of a ring: to a file, or to an NVMe namespace as commands.
pub trait Requests: Sized {
    /// Entry of the submission queue.
    type Entry: squeue::EntryMarker;
    /// Entry of the completion queue.
    type End: cqueue::EntryMarker;
    /// The engine to which the requests belong.
    const ENGINE: EngineName;

    /// Creates a ring for such entries with io_uring_setup(2).
    ///
    /// # Errors
    /// The kernel's error.
    fn setup(entries: u32, flags: u32, cpu: u32, idle_ms: u32) -> Result<RawRing<Self>, Errno>;

    /// Returns the descriptor of the file, which stays open as long as the ring.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Refuses a request that cannot be written as an entry.
    ///
    /// # Errors
    /// [`KernelEngineError`], with the reason.
    #[inline]
    fn check(&self, _: &Request) -> Result<(), KernelEngineError> {
        Ok(())
    }

    /// Returns the entry of `request` to `fd`, whose flags say whether the file is registered. The data is at
    /// `address`, in registered buffer `fixed` if it is in one.
    fn entry(
        &self,
        request: &Request,
        fd: (Fd, Flags),
        address: *mut u8,
        fixed: Option<u16>,
    ) -> Self::Entry;

    /// Returns the outcome of a request of `moved` bytes from the `result` of its completion.
    fn outcome(result: i32, moved: u32) -> Result<(), KernelRequestError>;
}

/// Reads, writes, trims and flushes of a file or block device.
#[derive(Clone, Debug)]
pub struct FileRequests {
    file: Arc<DirectFile>,
}

impl FileRequests {
    /// Returns requests to `file`.
    pub(super) fn new(file: Arc<DirectFile>) -> FileRequests {
        FileRequests { file }
    }

    /// Returns a trim: a hole in a file (IORING_OP_FALLOCATE), or a discard of a block device.
    fn trim(&self, fd: Fd, at: u64, len: u64) -> Entry {
        match self.file.kind() {
            FileKind::Regular => opcode::Fallocate::new(fd, len)
                .offset(at)
                .mode(PUNCH_HOLE)
                .build(),
            FileKind::Block => {
                let mut command = [0; 16];
                command[..8].copy_from_slice(&len.to_ne_bytes());
                opcode::UringCmd16::new(fd, DISCARD)
                    .addr(Some(at))
                    .cmd(command)
                    .build()
            }
        }
    }
}

impl Requests for FileRequests {
    type Entry = Entry;
    type End = cqueue::Entry;
    const ENGINE: EngineName = EngineName::IoUring;

    fn setup(entries: u32, flags: u32, cpu: u32, idle_ms: u32) -> Result<IoUring, Errno> {
        setup(entries, flags, cpu, idle_ms)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    #[inline]
    fn entry(
        &self,
        request: &Request,
        (fd, flags): (Fd, Flags),
        address: *mut u8,
        fixed: Option<u16>,
    ) -> Entry {
        let (len, at) = (request.len, request.offset);
        let entry = match (request.operation, fixed) {
            (Operation::Write, Some(index)) => opcode::WriteFixed::new(fd, address, len, index)
                .offset(at)
                .build(),
            (Operation::Write, None) => opcode::Write::new(fd, address, len).offset(at).build(),
            (Operation::Read, Some(index)) => opcode::ReadFixed::new(fd, address, len, index)
                .offset(at)
                .build(),
            (Operation::Read, None) => opcode::Read::new(fd, address, len).offset(at).build(),
            (Operation::Trim, _) => self.trim(fd, at, len.into()),
            (Operation::Sync, _) => opcode::Fsync::new(fd).build(),
            (Operation::DataSync, _) => opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build(),
        };
        entry.flags(flags)
    }

    #[inline]
    fn outcome(result: i32, moved: u32) -> Result<(), KernelRequestError> {
        slots::outcome(i64::from(result), moved)
    }
}
