//! The code that an interrupt can meet.

use crate::arch;
use std::ops::Range;

/// Addresses of the code in the middle of which an interrupt can come.
#[derive(Clone, Debug)]
pub struct Code {
    /// Addresses of the handler.
    pub handler: Range<usize>,
    /// Addresses of a wait: its first instruction to the end of TPAUSE.
    pub wait: Range<usize>,
    /// Addresses of the window: the check of the mark to the end of TPAUSE, the last part of `wait`.
    pub window: Range<usize>,
    /// Addresses of every instruction of the wait and of the handler, in order.
    pub instructions: Vec<usize>,
    /// Address of the handler's instruction after which the next interrupt is delivered: an interrupt before it is
    /// lost.
    pub rearm: usize,
}

impl Code {
    /// Returns the addresses in this process; empty ranges, and zero, for a CPU that never has user
    /// interrupts.
    pub fn here() -> Code {
        arch::code()
    }
}
