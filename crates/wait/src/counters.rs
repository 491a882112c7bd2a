//! Counters of waits.

use joulio_units::Nanos;
use std::ops::{AddAssign, Sub};

/// Declares [`WaitCounters`] and its arithmetic from one list of counters.
macro_rules! counters {
    ($($(#[$attribute:meta])* $name:ident: $type:ty,)*) => {
        /// Counters of waits since a queue or a core was made: of a queue, of a core, or the sum of both.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", serde(default))]
        pub struct WaitCounters {
            $($(#[$attribute])* pub $name: $type,)*
        }

        impl AddAssign for WaitCounters {
            fn add_assign(&mut self, other: WaitCounters) {
                $(self.$name += other.$name;)*
            }
        }

        impl Sub for WaitCounters {
            type Output = WaitCounters;

            /// Returns the counts since `earlier`.
            fn sub(self, earlier: WaitCounters) -> WaitCounters {
                WaitCounters {
                    $($name: self.$name - earlier.$name,)*
                }
            }
        }
    };
}

counters! {
    /// Polls of a completion queue.
    polls: u64,
    /// Polls that found no completion.
    empty_polls: u64,
    /// Times that a spin yielded its CPU to another thread of the process (sched_yield).
    yields: u64,
    /// Sleeps by a kernel timer.
    sleeps: u64,
    /// Sleeps at whose end a completion was already there.
    oversleeps: u64,
    /// Pauses in a user-level power state (TPAUSE).
    pauses: u64,
    /// Waits in a user-level power state for a write to a cache line (UMWAIT, MWAITX).
    monitors: u64,
    /// Pauses and waits that the system's limit cut short (IA32_UMWAIT_CONTROL).
    limited: u64,
    /// Interrupts delivered to the thread without the kernel.
    user_interrupts: u64,
    /// Times that the thread lost its user interrupts to the kernel: its CPU went offline, or the thread or the
    /// interrupt was moved.
    lost_bindings: u64,
    /// Times that lost user interrupts were bound again.
    rebindings: u64,
    /// Times that interrupts were unmasked for a block. More than `blocks` by the number of completions that were
    /// found before blocking.
    arms: u64,
    /// Blocks for an interrupt.
    blocks: u64,
    /// Interrupts that reached the queue's eventfd.
    interrupts: u64,
    /// Blocks that an interrupt ended.
    wakes: u64,
    /// Completions whose interrupt did not come, found by a poll after the block's deadline.
    lost_interrupts: u64,
    /// Wakes that found no completion: the interrupt was spurious, or late for a completion seen before.
    vain_wakes: u64,
    /// Time in blocks.
    #[cfg_attr(feature = "serde", serde(rename = "blocked_ns"))]
    blocked: Nanos,
    /// Time in sleeps.
    #[cfg_attr(feature = "serde", serde(rename = "slept_ns"))]
    slept: Nanos,
    /// Time by which sleeps ended later than planned.
    #[cfg_attr(feature = "serde", serde(rename = "overslept_ns"))]
    overslept: Nanos,
    /// Time in pauses, and in user-level waits for a user interrupt.
    #[cfg_attr(feature = "serde", serde(rename = "paused_ns"))]
    paused: Nanos,
    /// Time in user-level waits for a write to a cache line.
    #[cfg_attr(feature = "serde", serde(rename = "monitored_ns"))]
    monitored: Nanos,
}

impl WaitCounters {
    /// Returns the mean nanoseconds by which a sleep ended later than planned; 0 without sleeps.
    pub fn mean_oversleep_ns(&self) -> f64 {
        self.overslept.0 as f64 / self.sleeps.max(1) as f64
    }
}
