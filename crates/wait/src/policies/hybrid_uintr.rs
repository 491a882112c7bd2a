//! Timing with user interrupts: a rest that ends at its time, or by the interrupt.

use crate::{Class, HybridTpause, Outstanding, Policy, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// Rests once for each I/O until its completion is predicted, as [`HybridTpause`] does, and polls for the rest; but
/// the device's interrupt ends the rest too, so that a completion earlier than predicted is not seen late. This is
/// the idea of SPDK+'s last sentence (HotStorage '25), as far as it goes.
#[derive(Clone, Debug, Default)]
pub struct HybridUintr(HybridTpause);

impl HybridUintr {
    /// Creates a policy that polls for an epoch first.
    pub fn new() -> HybridUintr {
        HybridUintr::default()
    }
}

impl Policy for HybridUintr {
    fn name(&self) -> Cow<'static, str> {
        "hybrid-uintr".into()
    }

    fn steps(&self) -> StepSet {
        let steps = StepSet::NONE.with(StepKind::Spin);
        steps.with(StepKind::UserInterrupt)
    }

    fn timed(&self) -> bool {
        self.0.timed()
    }

    fn learning(&self) -> Nanos {
        self.0.learning()
    }

    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        self.0.completed(class, submitted, at);
    }

    fn plan(&mut self, outstanding: &dyn Outstanding, can: StepSet, now: Nanos) -> Step {
        let step = self.0.plan(outstanding, can, now);
        match step.kind {
            StepKind::Pause => Step::new(StepKind::UserInterrupt, step.until),
            _ => step,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Commands, MS, READ};
    use super::*;

    #[test]
    fn it_rests_as_long_as_hybrid_tpause_and_the_interrupt_may_end_it() {
        let mut policy = HybridUintr::new();
        let plan = |policy: &mut HybridUintr, submitted, now| {
            let steps = policy.steps();
            policy.plan(&Commands(vec![(READ, submitted)]), steps, Nanos(now))
        };
        assert_eq!(plan(&mut policy, MS, MS), Step::SPIN);
        policy.completed(READ, Nanos(MS), Nanos(MS + 9_000));
        policy.completed(READ, Nanos(20 * MS), Nanos(20 * MS + 8_000));
        let until = Nanos(50 * MS + 7_500);
        let rest = Step::new(StepKind::UserInterrupt, until);
        assert_eq!(plan(&mut policy, 50 * MS, 50 * MS + 10), rest);
        assert_eq!(plan(&mut policy, 50 * MS, until.0), Step::SPIN);
    }
}
