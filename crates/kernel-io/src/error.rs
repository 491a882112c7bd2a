//! What can go wrong before and beside a request.

use crate::{Path, Way};
use rustix::io::Errno;
use std::path::PathBuf;

/// A file or device that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// It cannot be opened.
    #[error("{}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Errno,
    },
    /// Something else has it.
    #[error("{}: in use: unmount it, and stop what has it (md, device mapper, swap)", path.display())]
    InUse {
        /// The device.
        path: PathBuf,
    },
    /// A loop device has its data.
    #[error("{}: /dev/{device} has its data, and writing here would damage what is on it: unmount it, and losetup -d /dev/{device}", path.display())]
    UnderLoop {
        /// The file or device.
        path: PathBuf,
        /// The loop device.
        device: String,
    },
    /// It is locked.
    #[error("{}: another joulio uses this file (or another program has it locked, or it was named twice): wait for it, or use another file", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// It takes no writes.
    #[error("{}: read-only: blockdev --setrw makes it writable, if the device is", path.display())]
    ReadOnly {
        /// The device.
        path: PathBuf,
    },
    /// Neither a block device nor a file.
    #[error("{}: neither a block device nor a regular file", path.display())]
    Kind {
        /// What it is.
        path: PathBuf,
    },
    /// Without the page cache it cannot be read.
    #[error("{}: no direct I/O (O_DIRECT) here: {source}: use a block device, or a file on ext4, xfs or btrfs", path.display())]
    NoDirect {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: Errno,
    },
    /// It has no room.
    #[error("{}: empty: give it a size first, e.g. by fallocate -l 1G", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// An engine that cannot be had, or that stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// This kernel or device does not do it.
    #[error("{path} {way}: {missing}")]
    Missing {
        /// The interface.
        path: Path,
        /// The way of waiting.
        way: Way,
        /// What is missing.
        missing: Missing,
    },
    /// The depth cannot be had.
    #[error("{path}: queue depth {requested} is not within 1 to {limit}")]
    Depth {
        /// The interface.
        path: Path,
        /// Queue depth requested.
        requested: usize,
        /// The most there is.
        limit: usize,
    },
    /// More requests than the depth.
    #[error("{path}: {depth} requests are outstanding, as many as its queue depth")]
    Full {
        /// The interface.
        path: Path,
        /// Its depth.
        depth: usize,
    },
    /// A buffer is shorter than its request.
    #[error("{path}: a request of {len} bytes with a buffer of {buffer}")]
    Buffer {
        /// The interface.
        path: Path,
        /// The request's bytes.
        len: u32,
        /// The buffer's bytes.
        buffer: usize,
    },
    /// Buffers cannot be had.
    #[error("{count} buffers of {len} bytes: {source}")]
    Memory {
        /// How many.
        count: usize,
        /// Bytes of each.
        len: usize,
        /// Why.
        source: Errno,
    },
    /// The kernel refused a call that it should not refuse.
    #[error("{call}: {source}")]
    Call {
        /// The system call, and what for.
        call: &'static str,
        /// What it said.
        source: Errno,
    },
}

/// Why an interface or a way of waiting cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// ENOSYS.
    #[error("this kernel is built without it, or a sandbox hides it")]
    NoSuchCall,
    /// The administrator switched io_uring off.
    #[error("kernel.io_uring_disabled is {0}: sysctl kernel.io_uring_disabled=0")]
    Disabled(u32),
    /// EPERM, and io_uring is not switched off.
    #[error(
        "not permitted: a sandbox (seccomp) forbids it, or sqpoll before Linux 5.13 wants root"
    )]
    Forbidden,
    /// The kernel does not know the flag.
    #[error("this kernel does not know it: Linux {0} or newer does")]
    TooOld(crate::Release),
    /// The way is not this interface's.
    #[error("{0} cannot wait so")]
    NotThisPath(Path),
    /// EOPNOTSUPP on a polled read.
    #[error(
        "the device has no queues to poll: nvme.poll_queues=N on the kernel's command line gives an NVMe device some"
    )]
    NoPollQueues,
    /// The CPU that the kernel's thread was to stay on.
    #[error("CPU {0} is not online")]
    Cpu(u32),
    /// ENOMEM for a ring or registered memory.
    #[error("not enough memory may be locked: raise ulimit -l")]
    Memory,
    /// All contexts are taken.
    #[error("no asynchronous contexts are left: raise fs.aio-max-nr")]
    NoContexts,
}
