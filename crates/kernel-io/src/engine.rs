//! What every engine of this crate does.

use crate::{Buffer, EngineError};
use joulio_units::{Direction, Nanos};
use joulio_wait::Counters;
use rustix::io::Errno;
use std::fmt;

/// A read or a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Read or write.
    pub direction: Direction,
    /// Where on the target, in bytes.
    pub offset: u64,
    /// Bytes; the buffer holds as many at least.
    pub len: u32,
    /// Comes back with the completion.
    pub tag: u64,
}

/// How a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The kernel's error number.
    Errno(Errno),
    /// Fewer bytes than asked for: the end of the file.
    Short {
        /// Bytes moved.
        moved: u32,
        /// Bytes asked for.
        asked: u32,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Errno(errno) => errno.fmt(f),
            Failure::Short { moved, asked } => {
                write!(f, "{moved} of {asked} bytes: the end of the file")
            }
        }
    }
}

/// A request that ended.
#[derive(Debug)]
pub struct Completion {
    /// The request's tag.
    pub tag: u64,
    /// How it ended.
    pub outcome: Result<(), Failure>,
    /// Its buffer.
    pub buffer: Buffer,
}

/// What an engine did, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// System calls: those that submit, those that wait, and those that wake the kernel's thread.
    pub system_calls: u64,
    /// Calls of [`Engine::submit`] that had something to send.
    pub submits: u64,
    /// Requests sent.
    pub submitted: u64,
    /// Calls of [`Engine::reap`].
    pub reaps: u64,
    /// Requests that ended.
    pub completed: u64,
    /// Completions that belong to no outstanding request. Never delivered.
    pub strange: u64,
    /// What waiting did. `blocks` are waits in the kernel for an interrupt, `polls` looks for a
    /// completion by this thread; what the kernel does inside one call cannot be told apart.
    pub waiting: Counters,
}

/// Does I/O for one thread on one [`Target`](crate::Target).
///
/// When an engine is dropped with requests outstanding it waits for them. [`IoUring`] waits up to
/// five seconds and leaks the buffers of those that have not ended then; no memory that the kernel
/// may still write is ever freed.
///
/// [`IoUring`]: crate::IoUring
pub trait Engine {
    /// `count` zeroed buffers of `len` bytes. Buffers of another engine serve as well, but are not
    /// registered with this one.
    fn buffers(&mut self, count: usize, len: usize) -> Result<Vec<Buffer>, EngineError>;

    /// Takes a request; there is room for as many as the engine's depth. A request that the
    /// kernel refuses ends with a completion that says so.
    fn prepare(&mut self, request: Request, buffer: Buffer) -> Result<(), EngineError>;

    /// Sends what was prepared.
    fn submit(&mut self) -> Result<(), EngineError>;

    /// Hands out what ended, at least `min` unless `deadline` (on `CLOCK_MONOTONIC`) comes first;
    /// waits meanwhile. How many were handed out. With nothing outstanding it sleeps until the
    /// deadline, except that it returns at once when that is [`Nanos::MAX`].
    fn reap(
        &mut self,
        min: usize,
        deadline: Nanos,
        sink: impl FnMut(Completion),
    ) -> Result<usize, EngineError>;

    /// What it did so far.
    fn calls(&self) -> Calls;

    /// The thread of the kernel that submits for it: its id in this process's /proc/self/task,
    /// where its CPU time is.
    fn poller_thread(&self) -> Option<i32> {
        None
    }
}

/// Sleeps until `deadline`: nothing is outstanding. Returns at once when there is none.
pub(crate) fn idle_until(deadline: Nanos) {
    if deadline != Nanos::MAX {
        let left = deadline - joulio_wait::now();
        joulio_wait::sleep(std::time::Duration::from_nanos(left.0));
    }
}
