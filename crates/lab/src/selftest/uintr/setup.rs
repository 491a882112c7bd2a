//! A thread that receives the interrupts of a test source, with its counters.

use joulio_cpu::Depth;
use joulio_cpu::uintr::{Receiver, ReceiverStatus, TestSource, UintrError};
use joulio_kernel_io::Interrupts;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, read};
use std::os::fd::{AsFd, OwnedFd};

/// Receiver and source of a test. The receiver is dropped first, so that the source still exists when the receiver
/// detaches from it.
pub struct UintrSetup {
    pub receiver: Receiver,
    pub source: TestSource,
    eventfd: OwnedFd,
}

/// All counters at one moment.
pub struct UintrCounts {
    pub status: ReceiverStatus,
    /// Number of times that the source was raised.
    pub raised: u64,
    /// Number of times that the handler ran.
    pub handled: u64,
    /// Number of times that the kernel's handler ran, from /proc/interrupts.
    pub kernel: u64,
}

/// Reason why a receiver and its test source are unavailable.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The module or the CPU does not support it.
    #[error(transparent)]
    Uintr(#[from] UintrError),
    /// The system cannot create an eventfd.
    #[error("no eventfd: {0}")]
    Eventfd(Errno),
    /// /proc/interrupts cannot be read.
    #[error("{0}")]
    Interrupts(#[from] joulio_kernel_io::StatsError),
}

impl UintrSetup {
    /// Sets up a receiver on the calling thread, which is pinned to `cpu`.
    pub fn new(cpu: u32, depth: Depth) -> Result<UintrSetup, SetupError> {
        let mut receiver = Receiver::open(depth)?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let eventfd = eventfd(0, flags).map_err(SetupError::Eventfd)?;
        let source = TestSource::open(eventfd.as_fd(), cpu)?;
        receiver.register()?;
        receiver.bind(eventfd.as_fd())?;
        Ok(UintrSetup {
            receiver,
            source,
            eventfd,
        })
    }

    /// Reads all counters.
    pub fn counts(&self) -> Result<UintrCounts, SetupError> {
        let status = self.receiver.status()?;
        Ok(UintrCounts {
            status,
            raised: self.source.raised()?,
            handled: self.receiver.delivered(),
            kernel: taken(&Interrupts::read("/")?, status.irq),
        })
    }

    /// Returns how often the eventfd was signalled since the last call.
    pub fn signals(&self) -> u64 {
        let mut count = [0; size_of::<u64>()];
        match read(&self.eventfd, &mut count) {
            Ok(_) => u64::from_ne_bytes(count),
            // The read fails if there were none.
            Err(_) => 0,
        }
    }
}

/// Returns how often the kernel took interrupt `irq`.
fn taken(interrupts: &Interrupts, irq: u32) -> u64 {
    let label = irq.to_string();
    let lines = interrupts.lines().iter();
    lines
        .filter(|line| line.label == label)
        .flat_map(|line| &line.counts)
        .sum()
}
