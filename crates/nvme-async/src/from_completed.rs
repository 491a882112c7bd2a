//! Results of successful commands.

use joulio_nvme::{BufferList, Completed, DmaBuffer};

/// Result of a successful command: its buffer, its buffers, nothing, or the whole completion.
pub trait FromCompleted: Sized {
    /// Returns the result of `completed`, which was successful.
    fn of(completed: Completed) -> Self;
}

impl FromCompleted for () {
    fn of(_: Completed) {}
}

impl FromCompleted for DmaBuffer {
    #[inline]
    fn of(completed: Completed) -> DmaBuffer {
        let buffer = completed.buffer;
        buffer.expect("a command that succeeded gives its buffer back")
    }
}

impl FromCompleted for BufferList {
    fn of(completed: Completed) -> BufferList {
        completed.into_buffers()
    }
}

impl FromCompleted for Completed {
    fn of(completed: Completed) -> Completed {
        completed
    }
}
