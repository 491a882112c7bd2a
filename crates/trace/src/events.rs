//! All kinds of events.

use crate::WaitKind;
use joulio_units::{Direction, Nanos};

/// Something that happened on a queue, or to the core that waits on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time on the recorder's clock: CLOCK_MONOTONIC in the driver.
    pub at: Nanos,
    /// QID. Events of the core itself are recorded once, on the first of its queues.
    pub queue: u16,
    /// Kind of event.
    pub kind: EventKind,
}

// Events are written on the path of an I/O while tracing: two and a half fit into a cache line.
const _: () = assert!(size_of::<Event>() == 24);

impl Event {
    /// Filler of the unused entries of a ring; never read.
    pub(crate) const NONE: Event = Event {
        at: Nanos::ZERO,
        queue: 0,
        kind: EventKind::Reset,
    };
}

/// Kind of event. Command identifiers are CID (NVM Express Base 2.0, figure 91).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// A command was written into the submission queue.
    Submit {
        /// Direction of the data.
        direction: Direction,
        /// CID.
        cid: u16,
        /// Length of the data in bytes; 0 without data.
        bytes: u32,
    },
    /// The submission doorbell was rung.
    Doorbell {
        /// Commands written since the last doorbell.
        commands: u32,
    },
    /// The plan with which the policy waited for a command, recorded before its completion. Times count from the
    /// submission, in nanoseconds, at most `u32::MAX`.
    Plan {
        /// Kind of the rest; `None`: the plan has no rest.
        rest: Option<WaitKind>,
        /// CID.
        cid: u16,
        /// End of the rest.
        rest_ns: u32,
        /// End of the close watch, after which the core blocks.
        watch_ns: u32,
    },
    /// The loose watch of that plan, between its rest and its close watch, which sees a completion slightly later.
    Loose {
        /// Kind of the watch.
        wait: WaitKind,
        /// CID.
        cid: u16,
        /// End of the watch.
        loose_ns: u32,
    },
    /// The kind of that plan's close watch, where it is not a spin.
    Watch {
        /// Kind of the watch.
        wait: WaitKind,
        /// CID.
        cid: u16,
    },
    /// Expected joules of the plan.
    Expected {
        /// CID.
        cid: u16,
        /// Nanojoules of the core.
        nanojoules: u32,
        /// Mean nanoseconds from the completion until the core sees it.
        delay_ns: u32,
    },
    /// A completion was taken from the completion queue and delivered.
    Complete {
        /// CID.
        cid: u16,
        /// Status field of 15 bits, without the phase tag (Base figure 92).
        status: u16,
    },
    /// Begin of a sleep with a kernel timer.
    SleepBegin,
    /// End of a sleep with a kernel timer.
    SleepEnd,
    /// Begin of a block for an interrupt.
    BlockBegin,
    /// End of a block for an interrupt.
    BlockEnd {
        /// True if an interrupt ended the block; false if its deadline or a signal did.
        interrupted: bool,
    },
    /// Begin of a spin on the completion queues.
    SpinBegin,
    /// End of a spin on the completion queues.
    SpinEnd {
        /// Polls of the completion queues, at most `u32::MAX`.
        polls: u32,
    },
    /// Begin of a user-level wait for a time or a user interrupt, with polls between the pauses.
    PauseBegin,
    /// End of a user-level wait for a time or a user interrupt.
    PauseEnd {
        /// Polls of the completion queues, at most `u32::MAX`.
        polls: u32,
    },
    /// Begin of a user-level wait for a write to a cache line.
    MonitorBegin,
    /// End of a user-level wait for a write to a cache line.
    MonitorEnd {
        /// Polls of the completion queues, at most `u32::MAX`.
        polls: u32,
    },
    /// A command was in flight for longer than its time limit.
    Timeout {
        /// CID.
        cid: u16,
    },
    /// An Abort was sent for a command.
    Abort {
        /// CID.
        cid: u16,
    },
    /// A reset of the controller.
    Reset,
    /// A completion was found, but its interrupt never came.
    LostInterrupt,
    /// A completion that belongs to no command in flight; it was not delivered.
    Fault {
        /// Kind of the fault.
        fault: FaultKind,
        /// CID in the completion.
        cid: u16,
    },
}

/// Reason why a completion belongs to no command in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A completion for a slot that has been reused since.
    Stale,
    /// A second completion of the same command.
    Doubled,
    /// A completion for a slot that does not exist, or of another queue.
    Unknown,
}
