//! Waiting for an interrupt that is delivered to the thread.

use super::name_with_time;
use super::patience::Patience;
use crate::{Class, Outstanding, Policy, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// Waits in a user-level power state for the device's user interrupt, as SPDK+ does
/// (HotStorage'25).
#[derive(Clone, Copy, Debug, Default)]
pub struct Uintr;

impl Policy for Uintr {
    fn name(&self) -> Cow<'static, str> {
        "uintr".into()
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::UserInterrupt)
    }

    fn fixed(&self) -> Option<Step> {
        Some(Step::forever(StepKind::UserInterrupt))
    }

    #[inline]
    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        Step::forever(StepKind::UserInterrupt)
    }
}

/// A wait by SPDK+'s own mechanism (HotStorage '25, 3.3), for comparison: a second user-level thread pauses, and the
/// handler switches to the one that polls. The poll group prepares the queue's core for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpdkPlus;

impl Policy for SpdkPlus {
    fn name(&self) -> Cow<'static, str> {
        "spdk-plus".into()
    }

    fn steps(&self) -> StepSet {
        Uintr.steps()
    }

    fn fixed(&self) -> Option<Step> {
        Uintr.fixed()
    }

    #[inline]
    fn plan(&mut self, outstanding: &dyn Outstanding, can: StepSet, now: Nanos) -> Step {
        Uintr.plan(outstanding, can, now)
    }
}

/// User interrupts for a time, then the kernel: after that time the thread blocks, the core is free for others, and
/// the same interrupt comes through the kernel. SPDK+ (HotStorage'25) says that the two exclude each other.
#[derive(Clone, Debug)]
pub struct UintrBlock {
    stay: Patience,
}

impl UintrBlock {
    /// Default time before a block: longer than I/Os take on flash, unless it is busy.
    pub const STAY: Nanos = Nanos::from_micros(100);

    /// Creates a policy that blocks once a wait has lasted for `stay`.
    pub fn new(stay: Nanos) -> UintrBlock {
        UintrBlock {
            stay: Patience::of(stay),
        }
    }
}

impl Policy for UintrBlock {
    fn name(&self) -> Cow<'static, str> {
        match self.stay.time {
            UintrBlock::STAY => "uintr-block".into(),
            stay => name_with_time("uintr-block", stay).into(),
        }
    }

    fn steps(&self) -> StepSet {
        let steps = StepSet::NONE.with(StepKind::UserInterrupt);
        steps.with(StepKind::Block)
    }

    fn timed(&self) -> bool {
        true
    }

    fn submitted(&mut self, _: Class, _: Nanos) {
        self.stay.begin_anew();
    }

    fn completed(&mut self, _: Class, _: Nanos, _: Nanos) {
        self.stay.begin_anew();
    }

    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, now: Nanos) -> Step {
        match self.stay.until(now) {
            Some(until) => Step::new(StepKind::UserInterrupt, until),
            None => Step::BLOCK,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Commands, READ};
    use super::*;

    #[test]
    fn it_stays_for_its_time_from_the_last_event_on() {
        let mut policy = UintrBlock::new(UintrBlock::STAY);
        let can = policy.steps();
        let plan =
            |policy: &mut UintrBlock, now| policy.plan(&Commands(vec![(READ, 0)]), can, Nanos(now));
        let stay = |until| Step::new(StepKind::UserInterrupt, Nanos(until));
        assert_eq!(plan(&mut policy, 1_000), stay(101_000));
        assert_eq!(plan(&mut policy, 100_999), stay(101_000));
        assert_eq!(plan(&mut policy, 101_000), Step::BLOCK);
        assert_eq!(plan(&mut policy, 900_000), Step::BLOCK);
        policy.completed(READ, Nanos(0), Nanos(900_000));
        assert_eq!(plan(&mut policy, 901_000), stay(1_001_000));
        policy.submitted(READ, Nanos(950_000));
        assert_eq!(plan(&mut policy, 950_000), stay(1_050_000));
        assert_eq!(policy.name(), "uintr-block");
        assert_eq!(UintrBlock::new(Nanos(5_000)).name(), "uintr-block=5us");
    }
}
