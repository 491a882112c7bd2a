//! A step: one kind of wait and its deadline.

use joulio_units::Nanos;

/// Kind of a step, from the shallowest to the deepest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum StepKind {
    /// Poll again at once.
    Spin,
    /// Poll again after a pause in a user-level power state (TPAUSE).
    Pause,
    /// Wait in a user-level power state for a write to a watched cache line (UMWAIT, MWAITX).
    Monitor,
    /// Wait in a user-level power state for an interrupt that is delivered to the thread.
    UserInterrupt,
    /// Sleep on a kernel timer, which only its time ends.
    Sleep,
    /// Block in the kernel for an interrupt.
    Block,
}

impl StepKind {
    /// All kinds of step.
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
    /// The empty set.
    pub const NONE: StepSet = StepSet(0);

    /// Returns this set with `kind`.
    #[must_use]
    pub const fn with(self, kind: StepKind) -> StepSet {
        StepSet(self.0 | 1 << kind as u8)
    }

    /// Returns this set without `kind`.
    #[must_use]
    pub const fn without(self, kind: StepKind) -> StepSet {
        StepSet(self.0 & !(1 << kind as u8))
    }

    /// Returns whether `kind` is in the set.
    pub const fn has(self, kind: StepKind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// Returns the intersection of both sets.
    #[must_use]
    pub const fn and(self, other: StepSet) -> StepSet {
        StepSet(self.0 & other.0)
    }

    /// Returns the shallowest kind of this set that `other` does not have; `None` if it has all of them.
    pub fn missing_in(self, other: StepSet) -> Option<StepKind> {
        let mut kinds = StepKind::ALL.into_iter();
        kinds.find(|&kind| self.has(kind) && !other.has(kind))
    }
}

/// Longest pause of a core that no event wakes: entering and leaving a user-level wait takes a part of that.
pub(crate) const MAX_PAUSE: Nanos = Nanos::from_micros(1);

/// A kind of wait and its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Kind of the step.
    pub kind: StepKind,
    /// Time at which the policy plans again if no completion came ([`Nanos::MAX`]: never).
    pub until: Nanos,
    /// Longest time between two polls in a user-level wait ([`Nanos::MAX`]: as long as the system allows).
    pub max_pause: Nanos,
    /// Number of PAUSE instructions between two polls of a spin.
    pub pauses: u32,
}

impl Step {
    /// A spin until a completion.
    pub const SPIN: Step = Step::forever(StepKind::Spin);
    /// A block until an interrupt.
    pub const BLOCK: Step = Step::forever(StepKind::Block);

    /// A step of `kind` until a completion or `until`.
    pub const fn new(kind: StepKind, until: Nanos) -> Step {
        Step {
            kind,
            until,
            max_pause: Nanos::MAX,
            pauses: 1,
        }
    }

    /// A sleep by a kernel timer.
    pub const fn sleep_until(until: Nanos) -> Step {
        Step::new(StepKind::Sleep, until)
    }

    /// A step of `kind` until a completion.
    pub const fn forever(kind: StepKind) -> Step {
        Step::new(kind, Nanos::MAX)
    }

    /// A pause until a completion, with a poll after each `max_pause`.
    pub const fn pause(max_pause: Nanos) -> Step {
        let step = Step::forever(StepKind::Pause);
        Step { max_pause, ..step }
    }

    /// Returns the step of a core that waits for two queues: it sees each queue's completion no later than that
    /// queue's own step would, or within a microsecond. The result is the shallower kind, with these exceptions. A
    /// timer sleep does not end by interrupts, but a block has a deadline: together they block. Waits for a cache
    /// line, a user interrupt and an interrupt do not see each other's event, and a pause sees none of the three:
    /// then the core polls each microsecond. The earlier deadline holds, and the more frequent poll.
    #[must_use]
    pub fn merge(self, other: Step) -> Step {
        use StepKind::{Block, Monitor, Pause, Sleep, UserInterrupt};
        let (shallow, deep) = if self.kind <= other.kind {
            (self.kind, other.kind)
        } else {
            (other.kind, self.kind)
        };
        let (kind, max_pause) = match (shallow, deep) {
            (Sleep, Block) => (Block, Nanos::MAX),
            (Pause, Monitor | UserInterrupt | Block)
            | (Monitor, UserInterrupt | Block)
            | (UserInterrupt, Block) => (Pause, MAX_PAUSE),
            _ => (shallow, Nanos::MAX),
        };
        Step {
            kind,
            until: self.until.min(other.until),
            max_pause: max_pause.min(self.max_pause).min(other.max_pause),
            pauses: self.pauses.min(other.pauses),
        }
    }

    /// Returns this step with `deadline` as its latest end.
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

    /// Short, long, or no limit at all.
    fn a_time() -> impl Strategy<Value = Nanos> {
        prop_oneof![
            (0..10_000u64).prop_map(Nanos),
            any::<u64>().prop_map(Nanos),
            Just(Nanos::MAX)
        ]
    }

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
            a_time(),
            a_time(),
            0..100u32,
        )
            .prop_map(|(kind, until, max_pause, pauses)| Step {
                kind,
                until,
                max_pause,
                pauses,
            })
    }

    /// Returns the longest time for which a core that takes `step` may not see a completion that comes at `at`, just
    /// after the core began to wait, and is announced in the form that `kind` waits for.
    fn hidden(step: Step, kind: StepKind, at: Nanos) -> Nanos {
        use StepKind::{Block, Monitor, Pause, Sleep, Spin, UserInterrupt};
        let up_to_its_end = step.until.since(at);
        match step.kind {
            Spin => Nanos::ZERO,
            Pause => up_to_its_end.min(step.max_pause),
            // The core waits for the form in which it is announced.
            Monitor | UserInterrupt | Block if step.kind == kind => Nanos::ZERO,
            Monitor | UserInterrupt | Block | Sleep => up_to_its_end,
        }
    }

    /// Returns whether `merged` shows a completion to a queue that requested `requested` as early as that step would,
    /// or within the microsecond in which a core polls by itself.
    fn shows(merged: Step, requested: Step) -> bool {
        let at = Nanos::ZERO;
        hidden(merged, requested.kind, at) <= hidden(requested, requested.kind, at).max(MAX_PAUSE)
    }

    proptest! {
        #[test]
        fn the_order_of_queues_does_not_matter(a in any_step(), b in any_step()) {
            prop_assert_eq!(a.merge(b), b.merge(a));
            prop_assert_eq!(a.merge(a), a);
        }

        #[test]
        fn no_queue_waits_longer_than_it_requested(a in any_step(), b in any_step()) {
            let both = a.merge(b);
            prop_assert!(both.until <= a.until && both.until <= b.until);
            prop_assert!(both.max_pause <= a.max_pause && both.max_pause <= b.max_pause);
        }

        #[test]
        fn no_queue_hides_the_completion_of_another(
            steps in proptest::collection::vec(any_step(), 1..5)
        ) {
            let merged = steps.iter().copied().reduce(Step::merge).unwrap();
            for &requested in &steps {
                prop_assert!(shows(merged, requested), "{steps:?} became {merged:?}");
            }
        }
    }

    #[test]
    fn a_pause_without_a_poll_beside_a_signal_polls_each_microsecond() {
        let pause = Step::new(StepKind::Pause, Nanos::from_millis(10));
        for signal in [StepKind::Monitor, StepKind::UserInterrupt, StepKind::Block] {
            let both = pause.merge(Step::forever(signal));
            assert_eq!(
                (both.kind, both.max_pause),
                (StepKind::Pause, MAX_PAUSE),
                "{signal:?}"
            );
            assert_eq!(both.until, pause.until);
        }
    }

    #[test]
    fn who_waits_for_two_signals_polls() {
        let signals = [StepKind::Monitor, StepKind::UserInterrupt, StepKind::Block];
        for a in signals {
            for b in signals.into_iter().filter(|&b| b != a) {
                assert_eq!(
                    Step::forever(a).merge(Step::forever(b)),
                    Step::pause(MAX_PAUSE)
                );
            }
            // A sleeping queue only needs the core back in time.
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
