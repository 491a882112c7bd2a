//! Counters of waiting.

use joulio_units::Nanos;
use std::ops::{AddAssign, Sub};

/// Declares [`Counters`] and its arithmetic from one list of counters.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// Counters of waiting, since their queue or core was made: of a queue, of a core, or of
        /// both added up.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct Counters {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl AddAssign for Counters {
            fn add_assign(&mut self, other: Counters) {
                $(self.$name += other.$name;)*
            }
        }

        impl Sub for Counters {
            type Output = Counters;

            /// Returns what was counted since `earlier`.
            fn sub(self, earlier: Counters) -> Counters {
                Counters {
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
    /// Times that a spin offered its CPU to another thread of the process (sched_yield).
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
    /// Times that the thread lost its user interrupts to the kernel: its CPU went offline, or the
    /// thread or the interrupt was moved.
    lost_bindings: u64,
    /// Times that lost user interrupts were bound again.
    rebindings: u64,
    /// Times that interrupts were let through for a block. More than `blocks` by the completions
    /// that were found before blocking.
    arms: u64,
    /// Blocks for an interrupt.
    blocks: u64,
    /// Interrupts that reached the queue's eventfd.
    interrupts: u64,
    /// Blocks that an interrupt ended.
    wakes: u64,
    /// Completions whose interrupt did not come, found by a poll after the block's deadline.
    lost_interrupts: u64,
    /// Wakes that found no completion: the interrupt was spurious, or late for one already seen.
    vain_wakes: u64,
    /// Time in blocks.
    blocked: Nanos,
    /// Time in sleeps.
    slept: Nanos,
    /// Time by which sleeps ended later than planned.
    overslept: Nanos,
}
