//! Counters of waiting.

use joulio_wait::Counters;
use serde::{Deserialize, Serialize};

/// Counters of waiting, all jobs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitCounters {
    /// Polls of completion queues.
    pub polls: u64,
    /// Polls that found nothing.
    pub empty_polls: u64,
    /// Times that a spin offered its CPU to another thread of the process.
    pub yields: u64,
    /// Sleeps by a kernel timer.
    pub sleeps: u64,
    /// Sleeps that ended after the completion.
    pub oversleeps: u64,
    /// Pauses in a user-level power state.
    pub pauses: u64,
    /// Waits in a user-level power state for a write to a cache line.
    pub monitors: u64,
    /// Pauses and waits that the system's limit cut short.
    pub limited: u64,
    /// Interrupts that came straight to the job's thread.
    pub user_interrupts: u64,
    /// Times that user interrupts were taken away from the thread: the kernel took the interrupts.
    pub lost_bindings: u64,
    /// Times that user interrupts were bound again.
    pub rebindings: u64,
    /// Blocks for an interrupt.
    pub blocks: u64,
    /// Interrupts received.
    pub interrupts: u64,
    /// Blocks that an interrupt ended.
    pub wakes: u64,
    /// Completions whose interrupt did not come.
    pub lost_interrupts: u64,
    /// Wakes that found no completion.
    pub vain_wakes: u64,
    /// Seconds blocked.
    pub blocked_seconds: f64,
    /// Seconds in sleeps.
    pub slept_seconds: f64,
    /// Nanoseconds by which a sleep ended later than it was to, on average.
    pub mean_oversleep_ns: f64,
}

impl From<Counters> for WaitCounters {
    fn from(c: Counters) -> WaitCounters {
        WaitCounters {
            polls: c.polls,
            empty_polls: c.empty_polls,
            yields: c.yields,
            sleeps: c.sleeps,
            oversleeps: c.oversleeps,
            pauses: c.pauses,
            monitors: c.monitors,
            limited: c.limited,
            user_interrupts: c.user_interrupts,
            lost_bindings: c.lost_bindings,
            rebindings: c.rebindings,
            blocks: c.blocks,
            interrupts: c.interrupts,
            wakes: c.wakes,
            lost_interrupts: c.lost_interrupts,
            vain_wakes: c.vain_wakes,
            blocked_seconds: c.blocked.seconds(),
            slept_seconds: c.slept.seconds(),
            mean_oversleep_ns: c.overslept.0 as f64 / c.sleeps.max(1) as f64,
        }
    }
}
