//! Counters of a device's faults.

use std::ops::{AddAssign, Sub};

/// Counters of a device's faults, and of the driver's measures against them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Completions for a slot that has been used again since; not delivered, as doubled and unknown ones.
    pub stale: u64,
    /// Completions for a command that was completed before.
    pub doubled: u64,
    /// Completions for no slot, or from another queue.
    pub unknown: u64,
    /// Commands that did not complete in time; each was aborted.
    pub timeouts: u64,
    /// Resets of the controller that affected this queue.
    pub resets: u64,
    /// Commands that a reset, or the end of the controller, has ended.
    pub ended_by_reset: u64,
    /// Commands sent again.
    pub retries: u64,
    /// Times that another writer changed the queue's interrupt vector, which was then set again.
    pub vectors_rewritten: u64,
}

impl AddAssign for Faults {
    fn add_assign(&mut self, other: Faults) {
        self.stale += other.stale;
        self.doubled += other.doubled;
        self.unknown += other.unknown;
        self.timeouts += other.timeouts;
        self.resets += other.resets;
        self.ended_by_reset += other.ended_by_reset;
        self.retries += other.retries;
        self.vectors_rewritten += other.vectors_rewritten;
    }
}

impl Sub for Faults {
    type Output = Faults;

    /// Returns the counts since `earlier`.
    fn sub(self, earlier: Faults) -> Faults {
        Faults {
            stale: self.stale - earlier.stale,
            doubled: self.doubled - earlier.doubled,
            unknown: self.unknown - earlier.unknown,
            timeouts: self.timeouts - earlier.timeouts,
            resets: self.resets - earlier.resets,
            ended_by_reset: self.ended_by_reset - earlier.ended_by_reset,
            retries: self.retries - earlier.retries,
            vectors_rewritten: self.vectors_rewritten - earlier.vectors_rewritten,
        }
    }
}
