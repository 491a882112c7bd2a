//! Errors of files and engines.

use crate::LockHolder;
use joulio_job::{CompletionMode, EngineName};
use rustix::io::Errno;
use std::path::PathBuf;

/// Error of a file or device that cannot be used, with the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectFileError {
    /// The file or device cannot be opened.
    #[error("{}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Error of the kernel.
        source: Errno,
    },
    /// The device is in use by something else.
    #[error("{}: in use: unmount it, and stop what has it (md, device mapper, swap)", path.display())]
    InUse {
        /// The device.
        path: PathBuf,
    },
    /// A loop device shares the data of the file or device.
    #[error("{}: /dev/{device} shares its data, and writing here would damage what is on it: unmount it, and losetup -d /dev/{device}", path.display())]
    UnderLoop {
        /// The file or device.
        path: PathBuf,
        /// The loop device.
        device: String,
    },
    /// The file is locked by another program.
    #[error("{}: {holder} uses this file (or another program has it locked, or it was named twice): wait for it, or use another file", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// Process that holds the lock.
        holder: LockHolder,
    },
    /// The device is read-only.
    #[error("{}: read-only: blockdev --setrw makes it writable, if the device is", path.display())]
    ReadOnly {
        /// The device.
        path: PathBuf,
    },
    /// The path is neither a block device nor a file.
    #[error("{}: neither a block device nor a regular file", path.display())]
    Kind {
        /// The path.
        path: PathBuf,
    },
    /// Direct I/O, which bypasses the page cache, is not possible.
    #[error("{}: no direct I/O (O_DIRECT) here: {source}: use a block device, or a file on ext4, xfs or btrfs", path.display())]
    NoDirect {
        /// The file.
        path: PathBuf,
        /// Error of the kernel.
        source: Errno,
    },
    /// The file or device has no bytes.
    #[error("{}: empty: give it a size first, e.g. by fallocate -l 1G", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// Error of an engine that cannot be created, or that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelEngineError {
    /// The engine or completion mode is missing on this kernel or device.
    #[error("{engine}: {mode} is unavailable: {missing}")]
    Missing {
        /// The engine.
        engine: EngineName,
        /// Completion mode requested.
        mode: CompletionMode,
        /// Reason.
        missing: Missing,
    },
    /// A policy uses steps that a ring does not support.
    #[error("io_uring: {policy} waits by steps that a ring or this machine does not have")]
    Policy {
        /// Name of the policy.
        policy: String,
    },
    /// Queue depth out of range.
    #[error("{engine}: queue depth {requested} is not within 1 to {limit}")]
    Depth {
        /// The engine.
        engine: EngineName,
        /// Queue depth requested.
        requested: usize,
        /// Largest queue depth.
        limit: usize,
    },
    /// The number of outstanding requests equals the queue depth.
    #[error("{engine}: {depth} requests are outstanding, as many as its queue depth")]
    Full {
        /// The engine.
        engine: EngineName,
        /// Queue depth.
        depth: usize,
    },
    /// A buffer is shorter than its request.
    #[error("{engine}: a request of {len} bytes with a buffer of {buffer}")]
    Buffer {
        /// The engine.
        engine: EngineName,
        /// The request's bytes.
        len: u32,
        /// The buffer's bytes.
        buffer: usize,
    },
    /// A request does not fit into one command.
    #[error(
        "io_uring_cmd: no command for {len} bytes at {offset}: it sends reads and writes of whole blocks within the namespace, of {max} bytes at most, and flushes"
    )]
    NoCommand {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        len: u32,
        /// Largest number of bytes of a command.
        max: u32,
    },
    /// The system has no memory for buffers.
    #[error("{count} buffers of {len} bytes: {source}")]
    Memory {
        /// Number of buffers.
        count: usize,
        /// Length of each in bytes.
        len: usize,
        /// Error of the kernel.
        source: Errno,
    },
    /// The kernel refused a call that it should not refuse.
    #[error("{call}: {source}")]
    Call {
        /// Name of the system call, and its purpose.
        call: &'static str,
        /// Error of the call.
        source: Errno,
    },
}

/// Reason why an engine or a completion mode is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// ENOSYS: the kernel does not have the call.
    #[error("this kernel is built without it, or a sandbox hides it")]
    NoSuchCall,
    /// The administrator switched io_uring off.
    #[error("kernel.io_uring_disabled is {0}: sysctl kernel.io_uring_disabled=0")]
    Disabled(u32),
    /// EPERM, although io_uring is not switched off.
    #[error(
        "not permitted: a sandbox (seccomp) forbids it, or sqpoll before Linux 5.13 wants root"
    )]
    Forbidden,
    /// The kernel does not support the flag.
    #[error("this kernel does not know it: Linux {0} or newer does")]
    TooOld(crate::Release),
    /// The engine has no such completion mode.
    #[error("{0} has only {modes}", modes = .0.completion_modes())]
    NotThisEngine(EngineName),
    /// The engine is the user-space driver, which cannot use the kernel's devices.
    #[error("the user-space driver takes pcie:ADDRESS, after joulio bind")]
    NotTheKernels,
    /// EOPNOTSUPP on a polled read: the device has no poll queues.
    #[error(
        "the device has no queues to poll: nvme.poll_queues=N on the kernel's command line gives an NVMe device some"
    )]
    NoPollQueues,
    /// The CPU for the kernel's thread is offline.
    #[error("CPU {0} is not online")]
    Cpu(u32),
    /// ENOMEM for a ring or for registered memory.
    #[error("not enough memory may be locked: raise ulimit -l")]
    Memory,
    /// EINVAL for buffers to register.
    #[error(
        "a ring registers 16384 buffers at most (1024 before Linux 5.13), one for each I/O in flight: a lesser --iodepth, or no --fixedbufs"
    )]
    TooManyBuffers,
    /// Commands cannot be passed to the namespace.
    #[error(transparent)]
    Passthrough(NoPassthrough),
    /// The system has no context left.
    #[error("no asynchronous contexts are left: raise fs.aio-max-nr")]
    NoContexts,
}

/// Reason why a namespace accepts no commands through its character device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoPassthrough {
    /// The path is not a whole NVMe namespace.
    #[error(
        "commands go to a whole NVMe namespace (/dev/nvme0n1), not to a file, a partition or another disk: --engine io_uring"
    )]
    NotNvme,
    /// Blocks have metadata, for which a command would need a separate buffer.
    #[error(
        "the namespace has metadata beside its blocks: --engine io_uring, or nvme format --ms 0"
    )]
    Metadata,
    /// The character device cannot be opened.
    #[error("/dev/ngXnY: {0}: Linux 5.13 and newer have it, for root")]
    Device(Errno),
}
