//! Ski rental: spins for as long as a block costs, then blocks.

use super::name_with_time;
use super::patience::Patience;
use crate::{Class, Ehp, Outstanding, Policy, Step, StepKind, StepSet};
use joulio_units::{Joules, Nanos, Watts};
use std::borrow::Cow;

/// Spins for the break-even time, then blocks: never more than twice what knowing the future would cost (Karlin,
/// Manasse, Rudolph and Sleator, "Competitive snoopy caching", 1988; for waiting, Karlin, Li, Manasse and Owicki,
/// SOSP'91). A wait begins when the core has nothing else to do, and begins again after a completion or a submission.
#[derive(Clone, Debug)]
pub struct SkiRental {
    spin: Patience,
}

impl SkiRental {
    /// Time of a block and its wake-up: the break-even of a machine whose costs are unknown.
    pub const COST_OF_A_WAKE: Nanos = Ehp::OVERHEAD;

    /// Creates a policy that spins for `break_even`.
    pub fn new(break_even: Nanos) -> SkiRental {
        SkiRental {
            spin: Patience::of(break_even),
        }
    }

    /// Break-even of a machine whose core draws `spinning` and `blocked`, and on which a wake-up costs `wake`: wake /
    /// (spinning - blocked). `None` if these are not valid costs: `wake` is negative or NaN, or a spinning core draws
    /// no more than a blocked one.
    pub fn break_even(spinning: Watts, blocked: Watts, wake: Joules) -> Option<Nanos> {
        let saved = spinning.0 - blocked.0;
        let sensible = saved > 0.0 && saved.is_finite() && wake.0 >= 0.0 && wake.0.is_finite();
        sensible.then(|| Nanos::from_seconds(wake.0 / saved))
    }
}

impl Policy for SkiRental {
    fn name(&self) -> Cow<'static, str> {
        name_with_time("ski-rental", self.spin.time).into()
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin).with(StepKind::Block)
    }

    fn timed(&self) -> bool {
        true
    }

    fn submitted(&mut self, _: Class, _: Nanos) {
        self.spin.begin_anew();
    }

    fn completed(&mut self, _: Class, _: Nanos, _: Nanos) {
        self.spin.begin_anew();
    }

    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, now: Nanos) -> Step {
        match self.spin.until(now) {
            Some(until) => Step::SPIN.bounded(until),
            None => Step::BLOCK,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Commands, READ};
    use super::*;
    use proptest::prelude::*;

    fn plan(policy: &mut SkiRental, now: u64) -> Step {
        let steps = policy.steps();
        policy.plan(&Commands(vec![(READ, 1)]), steps, Nanos(now))
    }

    #[test]
    fn it_spins_for_the_break_even_then_blocks() {
        let mut policy = SkiRental::new(Nanos(2_000));
        let spin = Step::SPIN.bounded(Nanos(3_000));
        assert_eq!(plan(&mut policy, 1_000), spin);
        assert_eq!(plan(&mut policy, 2_999), spin);
        assert_eq!(plan(&mut policy, 3_000), Step::BLOCK);
        // A spurious interrupt: the wait goes on.
        assert_eq!(plan(&mut policy, 9_000), Step::BLOCK);
        policy.completed(READ, Nanos(1), Nanos(9_500));
        assert_eq!(plan(&mut policy, 10_000), Step::SPIN.bounded(Nanos(12_000)));
        assert_eq!(plan(&mut policy, 12_000), Step::BLOCK);
        policy.submitted(READ, Nanos(12_500));
        assert_eq!(plan(&mut policy, 13_000), Step::SPIN.bounded(Nanos(15_000)));
    }

    #[test]
    fn the_break_even_is_the_wake_over_what_a_block_saves() {
        let of = |spinning, blocked, wake| {
            SkiRental::break_even(Watts(spinning), Watts(blocked), Joules(wake))
        };
        assert_eq!(of(4.5, 0.5, 16e-6), Some(Nanos(4_000)));
        for (spinning, blocked, wake) in [(1.0, 1.0, 1e-6), (2.0, 1.0, -1.0), (f64::NAN, 1.0, 1.0)]
        {
            assert_eq!(of(spinning, blocked, wake), None);
        }
    }

    proptest! {
        /// Costs: a nanosecond of spinning costs 1, a block costs the break-even.
        #[test]
        fn it_costs_at_most_twice_the_optimum(break_even in 1u64..1_000_000, time in 0u64..10_000_000) {
            let mut policy = SkiRental::new(Nanos(break_even));
            let spun = match plan(&mut policy, 5) {
                Step { kind: StepKind::Spin, until, .. } => until.0 - 5,
                step => panic!("{step:?}"),
            };
            let cost = if time <= spun {
                time
            } else {
                prop_assert_eq!(plan(&mut policy, 5 + spun), Step::BLOCK);
                spun + break_even
            };
            prop_assert!(cost <= 2 * time.min(break_even));
        }
    }
}
