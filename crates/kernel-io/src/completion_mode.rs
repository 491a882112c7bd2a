//! Completion modes of the kernel's engines.

use std::fmt;

/// How one of the kernel's engines learns of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelCompletionMode {
    /// The thread blocks until the device's interrupt.
    Interrupt,
    /// The thread polls the device's queue inside the kernel: IORING_SETUP_IOPOLL, or RWF_HIPRI
    /// with queue/io_poll_delay at -1.
    Poll,
    /// The thread sleeps, then polls: IORING_SETUP_HYBRID_IOPOLL, or RWF_HIPRI with
    /// queue/io_poll_delay at 0.
    Hybrid,
    /// The thread sleeps for so many microseconds, then polls: RWF_HIPRI with that
    /// queue/io_poll_delay.
    HybridFixed(u32),
    /// A thread of the kernel submits, the interrupt completes, and the caller polls the ring:
    /// IORING_SETUP_SQPOLL.
    SqPoll,
    /// A thread of the kernel submits and polls the device's queue.
    SqPollPoll,
}

impl KernelCompletionMode {
    /// Whether the device's queue is polled, so that no interrupt of the device belongs to it.
    pub fn polls_device(self) -> bool {
        !matches!(
            self,
            KernelCompletionMode::Interrupt | KernelCompletionMode::SqPoll
        )
    }

    /// Whether a thread of the kernel submits.
    pub fn has_poller_thread(self) -> bool {
        matches!(
            self,
            KernelCompletionMode::SqPoll | KernelCompletionMode::SqPollPoll
        )
    }
}

impl fmt::Display for KernelCompletionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelCompletionMode::Interrupt => f.write_str("interrupt"),
            KernelCompletionMode::Poll => f.write_str("poll"),
            KernelCompletionMode::Hybrid => f.write_str("hybrid"),
            KernelCompletionMode::HybridFixed(us) => write!(f, "hybrid={us}us"),
            KernelCompletionMode::SqPoll => f.write_str("sqpoll"),
            KernelCompletionMode::SqPollPoll => f.write_str("sqpoll+poll"),
        }
    }
}
