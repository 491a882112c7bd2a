//! Actions of a device.

use arbitrary::Arbitrary;
use joulio_fuzz::faults::AnyFault;

#[derive(Arbitrary, Clone, Debug)]
pub enum Act {
    /// The device executes the commands that the driver submitted.
    Work,
    /// The device executes commands for so many milliseconds, and nothing else happens.
    WorkFor(u8),
    /// Nothing happens for so many milliseconds.
    Rest(u8),
    /// Forges a completion, so many places ahead of where the driver polls next.
    Forge {
        queue: u8,
        ahead: u8,
        wrong_phase: bool,
        /// Submission queue in the entry, if not the right one.
        sqid: Option<u8>,
        cid: Cid,
        status: u16,
        dw0: u32,
    },
    /// Writes bytes anywhere into one of the driver's memories.
    Poke {
        memory: u8,
        at: u16,
        bytes: Vec<u8>,
    },
    /// Changes bytes that an admin command returned.
    Answer {
        at: u16,
        bytes: Vec<u8>,
    },
    /// Returns something else for a register for so many milliseconds; 65535 are for ever.
    Lie {
        register: Register,
        lie: Lie,
        milliseconds: u16,
    },
    Inject(AnyFault),
    /// Raises an interrupt without a completion.
    Raise(u8),
    /// Sets or clears the system's request to remove the device.
    RequestRemoval(bool),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Cid {
    /// Identifier of the command at this place of the submission queue.
    Of(u8),
    /// Identifier of an Asynchronous Event Request.
    Event(u8),
    Any(u16),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Register {
    Cap,
    Version,
    Configuration,
    Status,
    All,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Lie {
    Ones,
    Zeroes,
    Ready(bool),
    Fatal,
    Shutdown(u8),
    Flip(u64),
}
