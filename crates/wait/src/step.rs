//! A step: what a core does until something happens.

use joulio_units::Nanos;

/// How a core waits, from the shallowest to the deepest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum StepKind {
    /// Look again at once.
    Spin,
    /// Look again after a pause in a user-level power state (TPAUSE).
    Pause,
    /// Sleep until a write to a watched line (UMWAIT, MWAITX).
    Monitor,
    /// Sleep on a kernel timer; nothing but the time ends it.
    Sleep,
    /// Block in the kernel for an interrupt.
    Block,
}

/// A set of step kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepSet(u8);

impl StepSet {
    /// No step.
    pub const NONE: StepSet = StepSet(0);

    /// This set and `kind`.
    #[must_use]
    pub const fn with(self, kind: StepKind) -> StepSet {
        StepSet(self.0 | 1 << kind as u8)
    }

    /// Whether `kind` is in the set.
    pub const fn has(self, kind: StepKind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// What both sets have.
    #[must_use]
    pub const fn and(self, other: StepSet) -> StepSet {
        StepSet(self.0 & other.0)
    }
}

/// A way to wait, and until when at most ([`Nanos::MAX`]: for ever).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What to do.
    pub kind: StepKind,
    /// When to come back to the policy if nothing happened.
    pub until: Nanos,
}

impl Step {
    /// Spin until a completion.
    pub const SPIN: Step = Step::forever(StepKind::Spin);
    /// Block until an interrupt.
    pub const BLOCK: Step = Step::forever(StepKind::Block);

    /// Sleep by a kernel timer.
    pub const fn sleep_until(until: Nanos) -> Step {
        Step {
            kind: StepKind::Sleep,
            until,
        }
    }

    /// `kind` until a completion.
    pub const fn forever(kind: StepKind) -> Step {
        Step {
            kind,
            until: Nanos::MAX,
        }
    }

    /// The step of a core that two queues wait on: it may miss neither's completion for longer
    /// than that queue asked for. The shallower kind watches both, except that a timer sleep does
    /// not see interrupts while a block sees time: together they block. The earlier deadline holds.
    #[must_use]
    pub fn merge(self, other: Step) -> Step {
        let kind = match (self.kind, other.kind) {
            (StepKind::Sleep, StepKind::Block) | (StepKind::Block, StepKind::Sleep) => {
                StepKind::Block
            }
            (a, b) => a.min(b),
        };
        Step {
            kind,
            until: self.until.min(other.until),
        }
    }

    /// This step, ended by `deadline` at the latest.
    #[must_use]
    #[inline]
    pub fn bounded(self, deadline: Nanos) -> Step {
        Step {
            kind: self.kind,
            until: self.until.min(deadline),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_step() -> impl Strategy<Value = Step> {
        use StepKind::{Block, Monitor, Pause, Sleep, Spin};
        (
            prop_oneof![
                Just(Spin),
                Just(Pause),
                Just(Monitor),
                Just(Sleep),
                Just(Block)
            ],
            any::<u64>(),
        )
            .prop_map(|(kind, until)| Step {
                kind,
                until: Nanos(until),
            })
    }

    proptest! {
        #[test]
        fn the_order_of_queues_does_not_matter(a in any_step(), b in any_step()) {
            prop_assert_eq!(a.merge(b), b.merge(a));
            prop_assert_eq!(a.merge(a), a);
        }

        #[test]
        fn no_queue_waits_deeper_or_longer_than_it_asked(a in any_step(), b in any_step()) {
            let both = a.merge(b);
            prop_assert!(both.until <= a.until && both.until <= b.until);
            // A block with the sleeper's deadline is as good as the sleep to the sleeper.
            prop_assert!(both.kind <= a.kind || (a.kind, both.kind) == (StepKind::Sleep, StepKind::Block));
        }
    }

    #[test]
    fn a_sleeper_beside_a_blocker_does_not_hide_the_interrupt() {
        let sleep = Step {
            kind: StepKind::Sleep,
            until: Nanos(5),
        };
        let both = sleep.merge(Step::forever(StepKind::Block));
        assert_eq!(
            both,
            Step {
                kind: StepKind::Block,
                until: Nanos(5)
            }
        );
    }
}
