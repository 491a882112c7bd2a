//! The work of a controller, for the power model and for tests that count.

use crate::fault::Faulted;
use joulio_model::TransferTotals;
use joulio_units::Nanos;

/// Counts since the controller was made. They only rise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Reads, compares and verifies that succeeded: what SMART takes for reads. Service times are
    /// the profile's means, without any wait in a queue.
    pub read: TransferTotals,
    /// Writes that succeeded, likewise.
    pub write: TransferTotals,
    /// Flushes that succeeded, likewise.
    pub flush: TransferTotals,
    /// Write zeroes and dataset management that succeeded, likewise. They move no blocks: the bytes
    /// are 0.
    pub other: TransferTotals,
    /// Doorbells read by the device's thread.
    pub doorbell_polls: u64,
    /// Times the device's thread gave up its CPU: parked, or slept until the next completion.
    pub parks: u64,
    /// Times that a doorbell woke it.
    pub wakes: u64,
    /// Interrupts sent.
    pub interrupts_raised: u64,
    /// Interrupts that became pending because their vector was masked.
    pub interrupts_pended: u64,
    /// Interrupts whose target is not mapped.
    pub interrupts_lost: u64,
    /// Doorbells rung with a value that makes no sense, or for a queue that is not there.
    pub invalid_doorbells: u64,
    /// Commands that failed, admin commands included.
    pub failed_commands: u64,
    /// Time in each NVMe power state from when the controller was switched on until its latest
    /// step, as [`crate::PowerUse`] has it by the clock.
    pub power_states: [Nanos; 32],
    /// Look-ups of its map in the host's memory that found the entry there.
    pub host_memory_hits: u64,
    /// Look-ups that had to put it there.
    pub host_memory_misses: u64,
    /// Faults committed on purpose.
    pub faults: Faulted,
}
