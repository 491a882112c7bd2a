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
    /// Sleep in a user-level power state until an interrupt that comes straight to the thread.
    UserInterrupt,
    /// Sleep on a kernel timer; nothing but the time ends it.
    Sleep,
    /// Block in the kernel for an interrupt.
    Block,
}

impl StepKind {
    /// Every one.
    pub const ALL: [StepKind; 6] = [
        StepKind::Spin,
        StepKind::Pause,
        StepKind::Monitor,
        StepKind::UserInterrupt,
        StepKind::Sleep,
        StepKind::Block,
    ];
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

    /// This set less `kind`.
    #[must_use]
    pub const fn without(self, kind: StepKind) -> StepSet {
        StepSet(self.0 & !(1 << kind as u8))
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

/// How often a core looks that cannot be told: a light sleep and its end take a part of that.
pub(crate) const LOOK: Nanos = Nanos::from_micros(1);

/// A way to wait, and until when at most ([`Nanos::MAX`]: for ever).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What to do.
    pub kind: StepKind,
    /// When to come back to the policy if nothing happened.
    pub until: Nanos,
    /// The longest pause without a look, of a step that pauses ([`Nanos::MAX`]: as long as the
    /// system allows); others do not look at it.
    pub look: Nanos,
}

impl Step {
    /// Spin until a completion.
    pub const SPIN: Step = Step::forever(StepKind::Spin);
    /// Block until an interrupt.
    pub const BLOCK: Step = Step::forever(StepKind::Block);

    /// `kind` until a completion or `until`.
    pub const fn new(kind: StepKind, until: Nanos) -> Step {
        Step {
            kind,
            until,
            look: Nanos::MAX,
        }
    }

    /// Sleep by a kernel timer.
    pub const fn sleep_until(until: Nanos) -> Step {
        Step::new(StepKind::Sleep, until)
    }

    /// `kind` until a completion.
    pub const fn forever(kind: StepKind) -> Step {
        Step::new(kind, Nanos::MAX)
    }

    /// Pause until a completion, and look each `look`.
    pub const fn pause(look: Nanos) -> Step {
        Step {
            kind: StepKind::Pause,
            until: Nanos::MAX,
            look,
        }
    }

    /// The step of a core that two queues wait on: it may miss neither's completion for longer
    /// than that queue asked for. The shallower kind watches both, with two exceptions. A timer
    /// sleep does not see interrupts while a block sees time: together they block. And of a line, a
    /// user interrupt and an interrupt none tells of the others: the core looks itself, each
    /// microsecond. The earlier deadline holds, and the more frequent look.
    #[must_use]
    pub fn merge(self, other: Step) -> Step {
        use StepKind::{Block, Monitor, Pause, Sleep, UserInterrupt};
        let (shallow, deep) = if self.kind <= other.kind {
            (self.kind, other.kind)
        } else {
            (other.kind, self.kind)
        };
        let (kind, look) = match (shallow, deep) {
            (Sleep, Block) => (Block, Nanos::MAX),
            (Monitor, UserInterrupt | Block) | (UserInterrupt, Block) => (Pause, LOOK),
            _ => (shallow, Nanos::MAX),
        };
        Step {
            kind,
            until: self.until.min(other.until),
            look: look.min(self.look).min(other.look),
        }
    }

    /// This step, ended by `deadline` at the latest.
    #[must_use]
    #[inline]
    pub fn bounded(self, deadline: Nanos) -> Step {
        Step {
            until: self.until.min(deadline),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_step() -> impl Strategy<Value = Step> {
        use StepKind::{Block, Monitor, Pause, Sleep, Spin, UserInterrupt};
        (
            prop_oneof![
                Just(Spin),
                Just(Pause),
                Just(Monitor),
                Just(UserInterrupt),
                Just(Sleep),
                Just(Block)
            ],
            any::<u64>(),
            any::<u64>(),
        )
            .prop_map(|(kind, until, look)| Step {
                kind,
                until: Nanos(until),
                look: Nanos(look),
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
            prop_assert!(both.look <= a.look && both.look <= b.look);
            // A block with the sleeper's deadline is as good as the sleep to the sleeper.
            prop_assert!(both.kind <= a.kind || (a.kind, both.kind) == (StepKind::Sleep, StepKind::Block));
        }
    }

    #[test]
    fn who_waits_for_two_signals_looks_itself() {
        let signals = [StepKind::Monitor, StepKind::UserInterrupt, StepKind::Block];
        for a in signals {
            for b in signals.into_iter().filter(|&b| b != a) {
                assert_eq!(Step::forever(a).merge(Step::forever(b)), Step::pause(LOOK));
            }
            // A sleeper only wants to be back in time.
            let both = Step::forever(a).merge(Step::sleep_until(Nanos(7)));
            assert_eq!(both, Step::new(a, Nanos(7)));
        }
    }

    #[test]
    fn a_sleeper_beside_a_blocker_does_not_hide_the_interrupt() {
        let both = Step::sleep_until(Nanos(5)).merge(Step::BLOCK);
        assert_eq!(both, Step::new(StepKind::Block, Nanos(5)));
    }
}
