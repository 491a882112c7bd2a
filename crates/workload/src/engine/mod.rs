//! Engines: who does the I/O. The run loop is generic over them, so that the user-space driver
//! and the kernel's paths share it.

mod kernel;
mod nvme;

pub use kernel::KernelEngine;
pub use nvme::NvmeEngine;

use joulio_nvme::spec::Status;
use joulio_nvme::wait::Counters;
use joulio_nvme::{Faults, NvmeError};
use joulio_trace::Recorded;
use joulio_units::{Direction, Nanos};
use std::fmt;

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Io {
    /// Read or write.
    pub direction: Direction,
    /// Byte offset on the device.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// Comes back with the completion.
    pub tag: u64,
}

/// How a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoError {
    /// The device's status.
    Nvme(Status),
    /// The kernel's error.
    Kernel(joulio_kernel_io::Failure),
    /// The run was stopped, and the device had not ended the request some time later.
    Unfinished,
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IoError::Nvme(status) => status.fmt(f),
            IoError::Kernel(failure) => failure.fmt(f),
            IoError::Unfinished => f.write_str(
                "the run was stopped, and the device had not ended it half a second later",
            ),
        }
    }
}

/// An engine that failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The user-space driver, or its device.
    #[error(transparent)]
    Nvme(#[from] NvmeError),
    /// One of the kernel's.
    #[error(transparent)]
    Kernel(#[from] joulio_kernel_io::EngineError),
}

/// A request that ended.
pub struct Done<B> {
    /// The request's tag.
    pub tag: u64,
    /// How it ended.
    pub outcome: Result<(), IoError>,
    /// Its buffer.
    pub buffer: B,
}

/// A data buffer: the caller's, or the engine's while a request has it.
pub trait Buffer: Send {
    /// Copies the first bytes out.
    fn read(&self, to: &mut [u8]);
    /// Copies `from` to the start.
    fn write(&mut self, from: &[u8]);
}

/// Does I/O for one thread.
pub trait Engine {
    /// Its buffers.
    type Buffer: Buffer;

    /// `count` buffers of `len` bytes.
    fn buffers(&mut self, count: usize, len: usize) -> Result<Vec<Self::Buffer>, EngineError>;

    /// Takes a request. There is room for as many as the engine was made for.
    fn prepare(&mut self, io: Io, buffer: Self::Buffer) -> Result<(), EngineError>;

    /// Sends what was prepared.
    fn submit(&mut self) -> Result<(), EngineError>;

    /// Hands out what ended, at least `min` unless `deadline` comes first; waits meanwhile.
    fn reap(
        &mut self,
        min: usize,
        deadline: Nanos,
        sink: impl FnMut(Done<Self::Buffer>),
    ) -> Result<usize, EngineError>;

    /// What waiting has done so far.
    fn counters(&mut self) -> Counters;

    /// System calls so far, where they are counted.
    fn system_calls(&self) -> Option<u64> {
        None
    }

    /// The thread of the kernel that works for it, in this process's /proc/self/task.
    fn kernel_thread(&self) -> Option<i32> {
        None
    }

    /// Its counters tell how long it was blocked and asleep; otherwise the thread's CPU time does.
    fn tells_waiting(&self) -> bool {
        true
    }

    /// How long its way of waiting goes on polling until it has learnt how long to wait; zero: it
    /// has learnt, or need not.
    fn learning(&mut self) -> Nanos {
        Nanos::ZERO
    }

    /// Records what happens from now on, keeping the last `capacity` events of each queue.
    fn start_trace(&mut self, capacity: usize);

    /// Ends the recording; what each queue recorded.
    fn take_trace(&mut self) -> Vec<Recorded>;

    /// What the device did wrong so far.
    fn faults(&self) -> Faults;
}
