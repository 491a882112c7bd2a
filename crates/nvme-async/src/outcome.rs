//! Results of commands that succeeded.

use joulio_nvme::{BufferList, Completed, DmaBuffer};

/// Result of a command that succeeded: its buffer, its buffers, nothing, or all that its completion says.
pub trait Outcome: Sized {
    /// The result of `completed`, which succeeded.
    fn of(completed: Completed) -> Self;
}

impl Outcome for () {
    fn of(_: Completed) {}
}

impl Outcome for DmaBuffer {
    #[inline]
    fn of(completed: Completed) -> DmaBuffer {
        let buffer = completed.buffer;
        buffer.expect("a command that succeeded gives its buffer back")
    }
}

impl Outcome for BufferList {
    fn of(completed: Completed) -> BufferList {
        completed.into_buffers()
    }
}

impl Outcome for Completed {
    fn of(completed: Completed) -> Completed {
        completed
    }
}
