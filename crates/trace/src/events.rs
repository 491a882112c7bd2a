//! The list of all events.

use joulio_units::{Direction, Nanos};

/// Something that happened on a queue, or to the core that waits on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, on the clock of whoever records: CLOCK_MONOTONIC in the driver.
    pub at: Nanos,
    /// QID. What a core does for all its queues is told once, on the first of them.
    pub queue: u16,
    /// What.
    pub kind: EventKind,
}

// Written on the way of an I/O when tracing: small enough that two and a half share a cache line.
const _: () = assert!(size_of::<Event>() == 24);

impl Event {
    /// What unused places of a ring hold; never read.
    pub(crate) const NONE: Event = Event {
        at: Nanos::ZERO,
        queue: 0,
        kind: EventKind::Reset,
    };
}

/// What happened. Command identifiers are CID (Base figure 91).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// A command was written into the submission queue.
    Submit {
        /// Which way its data goes.
        direction: Direction,
        /// Its identifier.
        cid: u16,
        /// The length of its data; 0 without any.
        bytes: u32,
    },
    /// The submission doorbell was rung.
    Doorbell {
        /// For so many commands.
        commands: u32,
    },
    /// A completion was taken from the completion queue and delivered.
    Complete {
        /// The command's identifier.
        cid: u16,
        /// The 15 bits of the status field, phase tag not included (Base figure 92).
        status: u16,
    },
    /// The core goes to sleep until a time.
    SleepBegin,
    /// It woke.
    SleepEnd,
    /// The core blocks for an interrupt.
    BlockBegin,
    /// It woke.
    BlockEnd {
        /// By an interrupt; otherwise by the time or a signal.
        interrupted: bool,
    },
    /// The core begins to look at its completion queues again and again.
    PollBegin,
    /// It stopped looking.
    PollEnd {
        /// So often it looked; more than fit are `u32::MAX`.
        looks: u32,
    },
    /// The core waits in a power state that needs no kernel: pauses, looks, pauses.
    PauseBegin,
    /// It stopped doing so.
    PauseEnd {
        /// So often it looked; more than fit are `u32::MAX`.
        looks: u32,
    },
    /// A command was outstanding for longer than its time.
    Timeout {
        /// The command's identifier.
        cid: u16,
    },
    /// An Abort was sent for a command.
    Abort {
        /// The command's identifier.
        cid: u16,
    },
    /// The controller is reset.
    Reset,
    /// A completion was there, and its interrupt never came.
    LostInterrupt,
    /// A completion that belongs to no outstanding command; it was not delivered.
    Fault {
        /// Why it belongs to none.
        fault: FaultKind,
        /// The identifier it carried.
        cid: u16,
    },
}

/// Why a completion belongs to no outstanding command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Its slot has been used again since.
    Stale,
    /// The command was completed before.
    Doubled,
    /// There is no such slot, or it is another queue's.
    Unknown,
}
