//! Counters of faults.

use serde::{Deserialize, Serialize};

/// Faults of devices, and what was done about them, all jobs together, ramp and verification included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultCounts {
    /// Completions of an earlier command of their slot, not delivered.
    pub stale_completions: u64,
    /// Completions of a command completed before, not delivered.
    pub doubled_completions: u64,
    /// Completions of no command, not delivered.
    pub unknown_completions: u64,
    /// Commands that did not complete in time, and were aborted.
    pub timeouts: u64,
    /// Resets of a controller, counted by each queue that went through one.
    pub resets: u64,
    /// Commands that a reset ended.
    pub ended_by_reset: u64,
    /// Commands sent again.
    pub retries: u64,
    /// Times that another writer had changed an interrupt vector's table entry, which was then set again.
    pub vectors_rewritten: u64,
}
