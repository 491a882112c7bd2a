//! What can be asked of the kernel.

use std::fmt;

/// Which of the kernel's interfaces does the I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// preadv2(2) and pwritev2(2), one at a time.
    Psync,
    /// io_submit(2) and io_getevents(2).
    Libaio,
    /// io_uring(7).
    IoUring,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Path::Psync => "psync",
            Path::Libaio => "libaio",
            Path::IoUring => "io_uring",
        })
    }
}

/// How a completion is to be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// The thread blocks until the device's interrupt.
    Interrupt,
    /// The thread looks at the device's queue inside the kernel: IORING_SETUP_IOPOLL, or RWF_HIPRI
    /// with queue/io_poll_delay at -1.
    Poll,
    /// It sleeps first: IORING_SETUP_HYBRID_IOPOLL, or RWF_HIPRI with queue/io_poll_delay at 0.
    Hybrid,
    /// It sleeps first for so many microseconds: RWF_HIPRI with that queue/io_poll_delay.
    HybridFixed(u32),
    /// A thread of the kernel submits, the interrupt completes: IORING_SETUP_SQPOLL. The caller
    /// looks at the ring.
    SqPoll,
    /// A thread of the kernel submits and looks at the device's queue.
    SqPollPoll,
}

impl Way {
    /// No interrupt of the device belongs to it.
    pub fn polls_device(self) -> bool {
        !matches!(self, Way::Interrupt | Way::SqPoll)
    }

    /// A thread of the kernel submits.
    pub fn has_poller_thread(self) -> bool {
        matches!(self, Way::SqPoll | Way::SqPollPoll)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Interrupt => f.write_str("interrupt"),
            Way::Poll => f.write_str("poll"),
            Way::Hybrid => f.write_str("hybrid"),
            Way::HybridFixed(us) => write!(f, "hybrid={us}us"),
            Way::SqPoll => f.write_str("sqpoll"),
            Way::SqPollPoll => f.write_str("sqpoll+poll"),
        }
    }
}
