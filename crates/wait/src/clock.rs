//! The clock of real waits, and ways to let its time pass.
//!
//! For the fuzzer (`--cfg fuzzing`) the clock is simulated, so that a driver that waits half a second for a device
//! returns at once: see `clock/fuzzing.rs`.

#[cfg_attr(fuzzing, path = "clock/fuzzing.rs")]
#[cfg_attr(not(fuzzing), path = "clock/monotonic.rs")]
mod at_hand;

pub(crate) use at_hand::sleep_until;
pub use at_hand::{now, poll_until, sleep};
