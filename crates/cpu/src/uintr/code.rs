//! The code that an interrupt can meet.

use crate::arch;
use std::ops::Range;

/// Addresses of the code that an interrupt can meet in the middle.
#[derive(Clone, Debug)]
pub struct Code {
    /// The handler.
    pub handler: Range<usize>,
    /// The first instruction of a wait to the end of TPAUSE.
    pub wait: Range<usize>,
    /// The check of the mark to the end of TPAUSE, the last part of `wait`.
    pub window: Range<usize>,
    /// Every instruction of the wait and of the handler, in order.
    pub instructions: Vec<usize>,
    /// The instruction of the handler after which the next interrupt is delivered: one that comes
    /// before it is swallowed.
    pub rearm: usize,
}

impl Code {
    /// Returns the addresses in this process; empty ranges, and zero, for a CPU that never has user
    /// interrupts.
    pub fn here() -> Code {
        arch::code()
    }
}
