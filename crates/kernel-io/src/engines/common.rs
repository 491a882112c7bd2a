//! Common parts of the engines.

use crate::{AlignedBuffer, KernelEngineError};
use joulio_engine::Engine;
use joulio_units::Nanos;
use joulio_wait::WaitCounters;
use rustix::io::Errno;

/// Reason why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelRequestError {
    /// Error number of the kernel.
    #[error(transparent)]
    Errno(#[from] Errno),
    /// Status of an NVMe completion: status code (bits 7:0) and its type (bits 10:8).
    #[error("NVMe status code type {type_:x}h, code {code:02x}h", type_ = .0 >> 8 & 7, code = .0 & 0xff)]
    Status(u16),
    /// End of the file: fewer bytes than requested.
    #[error("{moved} of {requested} bytes: the end of the file")]
    Short {
        /// Bytes read or written.
        moved: u32,
        /// Bytes requested.
        requested: u32,
    },
}

/// A request that ended.
pub type KernelCompletion = joulio_engine::Completion<AlignedBuffer, KernelRequestError>;

/// Counts of an engine's calls and requests since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// System calls that submit, wait, or wake the kernel's thread.
    pub system_calls: u64,
    /// Calls of [`Engine::submit`] that had something to submit.
    pub submits: u64,
    /// Requests submitted.
    pub submitted: u64,
    /// Calls of [`Engine::reap`].
    pub reaps: u64,
    /// Requests that have ended.
    pub completed: u64,
    /// Completions that belong to no outstanding request; they are never delivered.
    pub strange: u64,
    /// Counters of waits: `blocks` are waits in the kernel for an interrupt, `polls` are this thread's polls for a
    /// completion. What the kernel does within one call is not visible.
    pub waiting: WaitCounters,
}

/// An engine of the kernel, on one [`DirectFile`](crate::DirectFile).
///
/// When an engine is dropped with requests outstanding, it waits for them, unless they were abandoned
/// ([`Engine::abandon`]). [`IoUring`] waits for five seconds at most, and leaks the buffers of requests that have
/// not ended by then: memory that the kernel may still write is never freed. With nothing outstanding,
/// [`Engine::reap`] sleeps until the deadline; if that is [`Nanos::MAX`], it returns at once.
///
/// [`IoUring`]: crate::IoUring
pub trait KernelEngine:
    Engine<Buffer = AlignedBuffer, Failure = KernelRequestError, Error = KernelEngineError>
{
    /// Returns the counts of calls and requests since the engine was created.
    fn calls(&self) -> Calls;
}

/// Sleeps until `deadline`, as nothing is outstanding; returns at once if it is [`Nanos::MAX`].
pub(crate) fn idle_until(deadline: Nanos) {
    if deadline != Nanos::MAX {
        let left = deadline - joulio_wait::now();
        joulio_wait::sleep(std::time::Duration::from_nanos(left.0));
    }
}
