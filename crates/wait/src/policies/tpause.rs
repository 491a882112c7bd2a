//! User-level waits for a time, by TPAUSE (MWAITX on AMD): no kernel, no interrupt.

use super::name_with_time;
use super::once::Once;
use crate::step::MAX_PAUSE;
use crate::{Class, Outstanding, Policy, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// Pauses between two polls: as SPDK+ (HotStorage'25) does while its thread waits, but without the user interrupt
/// that ends SPDK+'s pauses. On average a completion is seen late by half a pause.
#[derive(Clone, Debug)]
pub struct Tpause {
    pause: Nanos,
}

impl Tpause {
    /// Default pause: a microsecond, of which waking from C0.2 takes a part.
    pub const PAUSE: Nanos = MAX_PAUSE;

    /// Creates a policy that polls after each `pause`.
    pub fn new(pause: Nanos) -> Tpause {
        Tpause { pause }
    }
}

impl Policy for Tpause {
    fn name(&self) -> Cow<'static, str> {
        match self.pause {
            Tpause::PAUSE => "tpause".into(),
            pause => name_with_time("tpause", pause).into(),
        }
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Pause)
    }

    fn fixed(&self) -> Option<Step> {
        Some(Step::pause(self.pause))
    }

    #[inline]
    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        Step::pause(self.pause)
    }
}

/// Pauses once for each I/O, until its completion is predicted, and polls for the rest: the hybrid
/// polling in user space that SPDK+ (HotStorage'25) names as its future work.
///
/// The prediction is the least time of an I/O of the class in the last epoch of 10 ms, less the time to wake, so that
/// the completions of a device with constant times are never seen late. For a class without an epoch it polls.
#[derive(Clone, Debug, Default)]
pub struct HybridTpause {
    epochs: Box<Epochs>,
    once: Once,
}

/// Least time of each class: in the running epoch, and in the last epoch with I/Os.
#[derive(Clone, Debug, Default)]
struct Epochs {
    start: Option<Nanos>,
    running: [Option<Nanos>; Class::KEPT],
    least: [Option<Nanos>; Class::KEPT],
}

impl Epochs {
    fn add(&mut self, class: Class, time: Nanos, at: Nanos) {
        if let Some(index) = class.kept() {
            let least = self.running[index].get_or_insert(time);
            *least = time.min(*least);
        }
        let start = *self.start.get_or_insert(at);
        if at.since(start) >= HybridTpause::EPOCH {
            self.turn(at);
        }
    }

    /// Begins an epoch: classes without an I/O keep their least time.
    fn turn(&mut self, at: Nanos) {
        self.start = Some(at);
        for (running, least) in self.running.iter_mut().zip(&mut self.least) {
            *least = running.take().or(*least);
        }
    }

    fn least(&self, class: Class) -> Option<Nanos> {
        self.least[class.kept()?]
    }
}

impl HybridTpause {
    /// Length of an epoch.
    pub const EPOCH: Nanos = Nanos::from_millis(10);
    /// Time subtracted from the least time for waking from C0.2 and for the poll (0.2 to 1 us were published for
    /// Sapphire Rapids: linux-pm, 2023, "intel_idle: add C0.2 state").
    pub const WAKE: Nanos = Nanos(500);

    /// Creates a policy that polls for an epoch first.
    pub fn new() -> HybridTpause {
        HybridTpause::default()
    }
}

impl Policy for HybridTpause {
    fn name(&self) -> Cow<'static, str> {
        "hybrid-tpause".into()
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin).with(StepKind::Pause)
    }

    fn timed(&self) -> bool {
        true
    }

    fn learning(&self) -> Nanos {
        match self.epochs.least == [None; Class::KEPT] {
            true => HybridTpause::EPOCH,
            false => Nanos::ZERO,
        }
    }

    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        self.epochs.add(class, at.since(submitted), at);
    }

    fn plan(&mut self, outstanding: &dyn Outstanding, _: StepSet, now: Nanos) -> Step {
        let HybridTpause { epochs, once } = self;
        let step = once.plan(outstanding, now, |class, submitted| {
            match epochs.least(class) {
                Some(least) => {
                    let until = submitted + least.since(HybridTpause::WAKE);
                    Step::new(StepKind::Pause, until)
                }
                None => Step::SPIN,
            }
        });
        step.unwrap_or(Step::SPIN)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Commands, MS, READ, WRITE};
    use super::*;

    fn plan(policy: &mut impl Policy, commands: &[(Class, u64)], now: u64) -> Step {
        let steps = policy.steps();
        policy.plan(&Commands(commands.to_vec()), steps, Nanos(now))
    }

    fn pause_until(until: u64) -> Step {
        Step::new(StepKind::Pause, Nanos(until))
    }

    #[test]
    fn tpause_polls_each_microsecond_or_as_its_parameter_says() {
        let mut policy = Tpause::new(Tpause::PAUSE);
        assert_eq!(policy.name(), "tpause");
        assert_eq!(plan(&mut policy, &[], 5), Step::pause(Nanos(1_000)));
        let mut policy = Tpause::new(Nanos(1_500));
        assert_eq!(policy.name(), "tpause=1500ns");
        assert_eq!(plan(&mut policy, &[(READ, 1)], 5).max_pause, Nanos(1_500));
        assert!(!policy.timed(), "a reading of the clock for each I/O");
    }

    /// A policy after an epoch in which reads took `times`.
    fn after(times: &[u64]) -> HybridTpause {
        let mut policy = HybridTpause::new();
        for time in times {
            policy.completed(READ, Nanos(MS), Nanos(MS + time));
        }
        policy.completed(READ, Nanos(20 * MS), Nanos(21 * MS));
        policy
    }

    #[test]
    fn it_pauses_until_just_before_the_least_time_once_for_each() {
        let mut policy = after(&[9_000, 8_000, 30_000]);
        let first = [(READ, 50 * MS)];
        assert_eq!(
            plan(&mut policy, &first, 50 * MS + 10),
            pause_until(50 * MS + 7_500)
        );
        assert_eq!(plan(&mut policy, &first, 50 * MS + 7_500), Step::SPIN);
        // The next command has its own sleep; beside one that had its sleep, the core polls.
        let both = [(READ, 50 * MS), (READ, 50 * MS + 8_000)];
        assert_eq!(plan(&mut policy, &both, 50 * MS + 8_001), Step::SPIN);
        assert_eq!(
            plan(&mut policy, &both[1..], 50 * MS + 8_100),
            pause_until(50 * MS + 15_500)
        );
    }

    #[test]
    fn what_was_never_seen_is_polled_for() {
        let mut policy = after(&[9_000]);
        assert_eq!(
            plan(&mut policy, &[(WRITE, 50 * MS)], 50 * MS + 1),
            Step::SPIN
        );
        // Also for a device faster than a wake-up.
        let mut policy = after(&[400]);
        assert_eq!(
            plan(&mut policy, &[(READ, 50 * MS)], 50 * MS + 1),
            Step::SPIN
        );
        assert_eq!(plan(&mut HybridTpause::new(), &[(READ, 5)], 6), Step::SPIN);
    }

    #[test]
    fn the_least_time_of_the_last_epoch_holds_and_no_older_one() {
        let mut policy = after(&[8_000]);
        policy.completed(READ, Nanos(22 * MS), Nanos(22 * MS + 12_000));
        policy.completed(READ, Nanos(40 * MS), Nanos(40 * MS + 11_000));
        assert_eq!(
            plan(&mut policy, &[(READ, 50 * MS)], 50 * MS),
            pause_until(50 * MS + 10_500)
        );
    }
}
