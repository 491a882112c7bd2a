//! Counts of a controller's work, for the power model and for tests.

use crate::fault::Faulted;
use joulio_model::TransferTotals;
use joulio_units::Nanos;

/// Counts since the controller was made, which only increase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Reads, compares and verifies that succeeded: all that SMART counts as reads. Service times are the profile's
    /// means, without time in a queue.
    pub read: TransferTotals,
    /// Writes that succeeded, likewise.
    pub write: TransferTotals,
    /// Flushes that succeeded, likewise.
    pub flush: TransferTotals,
    /// Write zeroes and dataset management that succeeded, likewise. They move no blocks: the bytes
    /// are 0.
    pub other: TransferTotals,
    /// Doorbells that the device's thread has read.
    pub doorbell_polls: u64,
    /// Times that the device's thread gave up its CPU: it parked, or slept until the next completion.
    pub parks: u64,
    /// Times that a doorbell woke the device's thread.
    pub wakes: u64,
    /// Interrupts sent.
    pub interrupts_raised: u64,
    /// Interrupts that became pending because their vector was masked.
    pub interrupts_pended: u64,
    /// Interrupts whose target address is not mapped.
    pub interrupts_lost: u64,
    /// Doorbells rung with an invalid value, or for a queue that does not exist.
    pub invalid_doorbells: u64,
    /// Commands that failed, admin commands included.
    pub failed_commands: u64,
    /// Time in each NVMe power state from when the controller was switched on until its latest step, or a later write
    /// to its registers; [`crate::PowerUse`] has the same by the clock.
    pub power_states: [Nanos; 32],
    /// Look-ups in the host memory buffer that found the map's entry there.
    pub host_memory_hits: u64,
    /// Look-ups that had to write the map's entry there.
    pub host_memory_misses: u64,
    /// Faults committed as planned.
    pub faults: Faulted,
}
