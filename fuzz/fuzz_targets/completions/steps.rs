//! Steps of a caller.

use arbitrary::Arbitrary;

#[derive(Arbitrary, Debug)]
pub enum Step {
    Submit {
        queue: u8,
        kind: u8,
        lba: u16,
        blocks: u8,
        buffer: u8,
    },
    Ring(u8),
    Reap {
        queue: u8,
        max: u8,
    },
    /// Waits for completions, up to a time in milliseconds.
    Wait {
        min: u8,
        within: Option<u8>,
    },
    Policy {
        queue: u8,
        policy: u8,
    },
    /// Makes interrupts writes to memory.
    Redirect(u8),
    Ask(u8),
    Reset,
    Replace,
    /// Reads the last events of each queue, so many.
    Trace(u8),
}
