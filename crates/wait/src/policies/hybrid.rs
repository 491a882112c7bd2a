//! Hybrid waiting: sleep for a part of the expected time, then poll.

use super::name_with_time;
use super::once::Once;
use crate::{Class, Outstanding, Policy, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// Sleeps once for each I/O, by a kernel timer, and polls for the rest.
///
/// The automatic form is the rule of Linux 4.10 to 6.3 (`io_poll_delay` = 0; block/blk-mq.c), which "When Poll is
/// More Energy Efficient than Interrupt" (HotStorage'22) measured: half the mean time of the last epoch of 100 ms, by
/// eight sizes and the direction; no sleep in the first epoch. The fixed form is `io_poll_delay` = n. With several
/// commands outstanding the core sleeps until the first of their times, and once any of them has had its sleep it
/// polls.
#[derive(Clone, Debug)]
pub struct Hybrid {
    rule: Rule,
    once: Once,
}

#[derive(Clone, Debug)]
enum Rule {
    Fixed(Nanos),
    Automatic(Box<Statistics>),
}

impl Rule {
    /// Returns the time to sleep for a command of `class`; `None` if it is not known.
    fn sleep(&self, class: Class) -> Option<Nanos> {
        match self {
            Rule::Fixed(sleep) => Some(*sleep),
            Rule::Automatic(statistics) => Some(Nanos(statistics.mean(class)?.0.div_ceil(2))),
        }
    }
}

/// Time over which statistics are gathered before they are used: the window of BLK_STAT for polling.
const EPOCH: Nanos = Nanos::from_millis(100);

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    total: Nanos,
}

/// Times by class: those of the running epoch, and the means of the last epoch with samples.
#[derive(Clone, Debug, Default)]
struct Statistics {
    epoch_start: Option<Nanos>,
    running: [Sum; Class::KEPT],
    means: [Option<Nanos>; Class::KEPT],
}

impl Statistics {
    fn add(&mut self, class: Class, time: Nanos, at: Nanos) {
        let start = *self.epoch_start.get_or_insert(at);
        if at.since(start) >= EPOCH {
            self.turn(at);
        }
        if let Some(index) = class.kept() {
            self.running[index].count += 1;
            self.running[index].total += time;
        }
    }

    /// Begins an epoch: classes without a sample keep their last mean.
    fn turn(&mut self, at: Nanos) {
        self.epoch_start = Some(at);
        for (sum, mean) in self.running.iter_mut().zip(&mut self.means) {
            if let Some(new) = sum.total.0.checked_div(sum.count) {
                *mean = Some(Nanos(new));
            }
            *sum = Sum::default();
        }
    }

    fn mean(&self, class: Class) -> Option<Nanos> {
        self.means[class.kept()?]
    }
}

impl Hybrid {
    /// Creates a policy that sleeps for half of the learnt mean time.
    pub fn automatic() -> Hybrid {
        Hybrid {
            rule: Rule::Automatic(Box::default()),
            once: Once::default(),
        }
    }

    /// Creates a policy that sleeps for `sleep` from the submission on.
    pub fn fixed(sleep: Nanos) -> Hybrid {
        Hybrid {
            rule: Rule::Fixed(sleep),
            once: Once::default(),
        }
    }
}

impl Policy for Hybrid {
    fn name(&self) -> Cow<'static, str> {
        match self.rule {
            Rule::Fixed(sleep) => name_with_time("hybrid", sleep).into(),
            Rule::Automatic(_) => "hybrid".into(),
        }
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin).with(StepKind::Sleep)
    }

    fn timed(&self) -> bool {
        true
    }

    fn learning(&self) -> Nanos {
        match &self.rule {
            Rule::Automatic(statistics) if statistics.means == [None; Class::KEPT] => EPOCH,
            _ => Nanos::ZERO,
        }
    }

    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        if let Rule::Automatic(statistics) = &mut self.rule {
            statistics.add(class, at.since(submitted), at);
        }
    }

    // If it were inlined into `AnyPolicy`, registers would be saved there for all policies.
    #[inline(never)]
    fn plan(&mut self, outstanding: &dyn Outstanding, _: StepSet, now: Nanos) -> Step {
        let Hybrid { rule, once } = self;
        let step = once.plan(outstanding, now, |class, submitted| {
            match rule.sleep(class) {
                Some(sleep) => Step::sleep_until(submitted + sleep),
                None => Step::SPIN,
            }
        });
        step.unwrap_or(Step::SPIN)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Commands;
    use super::*;
    use joulio_units::Direction;

    const READ: Class = Class::new(Direction::Read, 4096);
    const WRITE: Class = Class::new(Direction::Write, 4096);

    fn plan(policy: &mut Hybrid, commands: &[(Class, u64)], now: u64) -> Step {
        policy.plan(&Commands(commands.to_vec()), policy.steps(), Nanos(now))
    }

    fn sleep_until(until: u64) -> Step {
        Step::sleep_until(Nanos(until))
    }

    const SPIN: Step = Step::SPIN;
    const MS: u64 = 1_000_000;

    #[test]
    fn a_fixed_sleep_counts_from_the_submission_and_comes_once() {
        let mut policy = Hybrid::fixed(Nanos(4_000));
        assert_eq!(
            plan(&mut policy, &[(READ, 1_000)], 1_500),
            sleep_until(5_000)
        );
        assert_eq!(plan(&mut policy, &[(READ, 1_000)], 5_100), SPIN);
        assert_eq!(
            plan(&mut policy, &[(READ, 6_000)], 6_100),
            sleep_until(10_000)
        );
    }

    #[test]
    fn a_time_that_is_over_is_not_slept_for() {
        assert_eq!(
            plan(&mut Hybrid::fixed(Nanos(100)), &[(READ, 1_000)], 2_000),
            SPIN
        );
        assert_eq!(plan(&mut Hybrid::fixed(Nanos(100)), &[], 2_000), SPIN);
    }

    #[test]
    fn the_first_epoch_has_no_sleep_and_the_second_sleeps_half_the_mean() {
        let mut policy = Hybrid::automatic();
        for i in 0..10 {
            let at = i * 10 * MS;
            policy.completed(READ, Nanos(at), Nanos(at + 8_000));
            assert_eq!(plan(&mut policy, &[(READ, at + 9_000)], at + 9_100), SPIN);
            assert_eq!(policy.learning(), EPOCH);
        }
        let at = 101 * MS;
        policy.completed(READ, Nanos(at), Nanos(at + 8_000));
        assert_eq!(
            plan(&mut policy, &[(READ, at + 9_000)], at + 9_100),
            sleep_until(at + 13_000)
        );
        assert_eq!(policy.learning(), Nanos::ZERO);
        // Nothing is known of writes.
        assert_eq!(
            plan(&mut policy, &[(WRITE, at + 20_000)], at + 20_100),
            SPIN
        );
    }

    #[test]
    fn the_first_time_of_several_commands_ends_the_sleep_of_all() {
        let mut policy = Hybrid::fixed(Nanos(4_000));
        let both = [(READ, 2_000), (WRITE, 1_000)];
        assert_eq!(plan(&mut policy, &both, 2_100), sleep_until(5_000));
        // One completed; the other has had its sleep.
        assert_eq!(plan(&mut policy, &both[..1], 5_100), SPIN);
        // A newer command beside it must not make it miss its completion.
        assert_eq!(
            plan(&mut policy, &[(READ, 2_000), (READ, 5_200)], 5_300),
            SPIN
        );
    }

    #[test]
    fn an_epoch_without_samples_keeps_the_last_mean() {
        let mut policy = Hybrid::automatic();
        policy.completed(READ, Nanos(0), Nanos(10_000));
        policy.completed(WRITE, Nanos(100 * MS), Nanos(100 * MS + 20_000));
        policy.completed(WRITE, Nanos(250 * MS), Nanos(250 * MS + 20_000));
        let at = 300 * MS;
        assert_eq!(
            plan(&mut policy, &[(READ, at)], at + 1),
            sleep_until(at + 5_000)
        );
        assert_eq!(
            plan(&mut policy, &[(WRITE, at + 10_000)], at + 10_001),
            sleep_until(at + 20_000)
        );
    }
}
