//! What waiting did, counted.

use joulio_units::Nanos;
use std::ops::{AddAssign, Sub};

/// Counters of one queue (or, added up, of many). Counts since the queue was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Looks at the completion queue.
    pub polls: u64,
    /// Looks that found nothing.
    pub empty_polls: u64,
    /// Sleeps by a kernel timer.
    pub sleeps: u64,
    /// Sleeps after which the completion was already there.
    pub oversleeps: u64,
    /// Pauses in a user-level power state (TPAUSE).
    pub pauses: u64,
    /// Waits in one for a write to a line (UMWAIT, MWAITX).
    pub monitors: u64,
    /// Pauses and waits that the system's limit cut short (IA32_UMWAIT_CONTROL).
    pub limited: u64,
    /// Interrupts that came straight to the thread.
    pub user_interrupts: u64,
    /// Times that these were taken away from the thread (its CPU went offline, the thread or the
    /// interrupt was moved): the kernel took the interrupts then.
    pub lost_bindings: u64,
    /// Times that they were bound again.
    pub rebindings: u64,
    /// Times that interrupts were let through, so as to block. More than `blocks` by the
    /// completions that the look after that found.
    pub arms: u64,
    /// Times that the thread blocked for an interrupt.
    pub blocks: u64,
    /// Interrupts that reached the queue's eventfd.
    pub interrupts: u64,
    /// Blocks that an interrupt ended.
    pub wakes: u64,
    /// Completions whose interrupt did not come: found by a look when the block's time was over.
    pub lost_interrupts: u64,
    /// Wakes that found no completion: the interrupt was spurious, or late for one already seen.
    pub vain_wakes: u64,
    /// Time spent blocked.
    pub blocked: Nanos,
    /// Time spent in sleeps.
    pub slept: Nanos,
    /// Time by which sleeps ended later than they were to.
    pub overslept: Nanos,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.polls += other.polls;
        self.empty_polls += other.empty_polls;
        self.sleeps += other.sleeps;
        self.oversleeps += other.oversleeps;
        self.pauses += other.pauses;
        self.monitors += other.monitors;
        self.limited += other.limited;
        self.user_interrupts += other.user_interrupts;
        self.lost_bindings += other.lost_bindings;
        self.rebindings += other.rebindings;
        self.arms += other.arms;
        self.blocks += other.blocks;
        self.interrupts += other.interrupts;
        self.wakes += other.wakes;
        self.lost_interrupts += other.lost_interrupts;
        self.vain_wakes += other.vain_wakes;
        self.blocked += other.blocked;
        self.slept += other.slept;
        self.overslept += other.overslept;
    }
}

impl Sub for Counters {
    type Output = Counters;

    /// What was counted since `earlier`.
    fn sub(self, earlier: Counters) -> Counters {
        Counters {
            polls: self.polls - earlier.polls,
            empty_polls: self.empty_polls - earlier.empty_polls,
            sleeps: self.sleeps - earlier.sleeps,
            oversleeps: self.oversleeps - earlier.oversleeps,
            pauses: self.pauses - earlier.pauses,
            monitors: self.monitors - earlier.monitors,
            limited: self.limited - earlier.limited,
            user_interrupts: self.user_interrupts - earlier.user_interrupts,
            lost_bindings: self.lost_bindings - earlier.lost_bindings,
            rebindings: self.rebindings - earlier.rebindings,
            arms: self.arms - earlier.arms,
            blocks: self.blocks - earlier.blocks,
            interrupts: self.interrupts - earlier.interrupts,
            wakes: self.wakes - earlier.wakes,
            lost_interrupts: self.lost_interrupts - earlier.lost_interrupts,
            vain_wakes: self.vain_wakes - earlier.vain_wakes,
            blocked: self.blocked - earlier.blocked,
            slept: self.slept - earlier.slept,
            overslept: self.overslept - earlier.overslept,
        }
    }
}
