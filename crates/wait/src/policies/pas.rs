//! Per-I/O adaptive sleep: each sleep is longer or shorter than the last, depending on how the last ended.

use super::once::Once;
use crate::{Class, Outstanding, Policy, Slept, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// PAS of "DPAS: A Prompt, Accurate and Safe I/O Completion Method for SSDs" (FAST'26), with the parameters and the
/// arithmetic of its published kernel (block/blk-mq.c, `pas_adaptive_enabled` = 1). It records no times: every sleep
/// reports whether it was too short or too long, and this report and the one before it change the next sleep of its
/// class.
///
/// The sleep counts from the plan, as in that kernel, so that even the first, of 0.1 us, takes place and is learnt
/// from. With several commands outstanding the core sleeps once for all of them, for the shortest of their sleeps,
/// which is the one that learns.
#[derive(Clone, Debug)]
pub struct Pas {
    sleeps: Box<[Sleep; Class::KEPT]>,
    once: Once,
    /// Sleep that is under way: index of its class, and its end.
    asleep: Option<(usize, Nanos)>,
    floors: u64,
    /// Number of waits planned, up to [`Pas::SETTLED`].
    planned: u32,
}

/// Length of a class's sleeps, and the factors that change it, in millionths.
#[derive(Clone, Copy, Debug)]
struct Sleep {
    length: u64,
    factor: u64,
    up: u64,
    down: u64,
    last: Slept,
}

/// A factor of one.
const ONE: u64 = 1_000_000;

impl Pas {
    /// First sleep, and the shortest.
    pub const FLOOR: Nanos = Nanos(100);
    /// Longest sleep: the published kernel's times are 32 bits of nanoseconds.
    pub const CEILING: Nanos = Nanos(u32::MAX as u64);
    /// Initial growth of a sleep after one that was too short, in millionths.
    pub const UP: u64 = 10_000;
    /// Initial and largest reduction of a sleep after one that was too long, in millionths.
    pub const DOWN: u64 = 100_000;
    /// Smallest DOWN, in millionths.
    pub const MIN_DOWN: u64 = 10_000;
    /// Ratio of DOWN to UP.
    pub const RATIO: u64 = 10;
    /// Growth of UP and DOWN after two equal reports, in millionths.
    pub const HEAT: u64 = 50_000;
    /// Reduction of UP and DOWN after two different reports, in millionths.
    pub const COOL: u64 = 100_000;

    /// Number of waits after which sleeps have the right length: 52 that are too short lead from [`Pas::FLOOR`] past
    /// 10 ms.
    pub const SETTLED: u32 = 100;
    /// Longest time to settle, on a device of 100 us.
    pub const SETTLING: Nanos = Nanos::from_millis(10);

    /// Creates a policy that has learnt nothing yet.
    pub fn new() -> Pas {
        let sleep = Sleep {
            length: Pas::FLOOR.0,
            factor: ONE,
            up: Pas::UP,
            down: Pas::DOWN,
            last: Slept::Under,
        };
        Pas {
            sleeps: Box::new([sleep; Class::KEPT]),
            once: Once::default(),
            asleep: None,
            floors: 0,
            planned: 0,
        }
    }

    /// Returns how often a sleep would have become shorter than [`Pas::FLOOR`] since the last call.
    pub(crate) fn take_floors(&mut self) -> u64 {
        std::mem::take(&mut self.floors)
    }
}

impl Default for Pas {
    fn default() -> Pas {
        Pas::new()
    }
}

impl Sleep {
    /// Takes in how a sleep ended; returns whether the next would be below the floor.
    fn learn(&mut self, now: Slept) -> bool {
        let before = std::mem::replace(&mut self.last, now);
        self.factor = match (before, now) {
            (Slept::Under, Slept::Under) => self.factor.saturating_add(self.up),
            (Slept::Over, Slept::Under) => ONE + self.up,
            (Slept::Under, Slept::Over) => ONE - self.down,
            (Slept::Over, Slept::Over) => self.factor.saturating_sub(self.down),
        };
        if self.factor == 0 {
            self.factor = ONE;
        }
        let length = self.length.saturating_mul(self.factor) / ONE;
        self.length = length.clamp(Pas::FLOOR.0, Pas::CEILING.0);
        if before == now {
            self.down = (self.down * (ONE + Pas::HEAT) / ONE).min(Pas::DOWN);
            self.up = self.down / Pas::RATIO;
        } else {
            self.up = (self.up * (ONE - Pas::COOL) / ONE).max(Pas::MIN_DOWN / Pas::RATIO);
            self.down = self.up * Pas::RATIO;
        }
        length < Pas::FLOOR.0
    }
}

impl Policy for Pas {
    fn name(&self) -> Cow<'static, str> {
        "pas".into()
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin).with(StepKind::Sleep)
    }

    fn timed(&self) -> bool {
        true
    }

    fn learning(&self) -> Nanos {
        match self.planned < Pas::SETTLED {
            true => Pas::SETTLING,
            false => Nanos::ZERO,
        }
    }

    fn woke(&mut self, slept: Slept, at: Nanos) {
        // A sleep that something else ended early says nothing about its length.
        if let Some((index, _)) = self.asleep.take().filter(|&(_, until)| at >= until) {
            self.floors += u64::from(self.sleeps[index].learn(slept));
        }
    }

    fn plan(&mut self, outstanding: &dyn Outstanding, _: StepSet, now: Nanos) -> Step {
        let Pas {
            sleeps,
            once,
            planned,
            ..
        } = self;
        if *planned < Pas::SETTLED {
            *planned += 1;
        }
        let mut shortest: Option<usize> = None;
        let wish = |class: Class, _| {
            let Some(index) = class.kept() else {
                return Step::SPIN;
            };
            if shortest.is_none_or(|other| sleeps[index].length < sleeps[other].length) {
                shortest = Some(index);
            }
            Step::sleep_until(now + Nanos(sleeps[index].length))
        };
        let step = once.plan(outstanding, now, wish).unwrap_or(Step::SPIN);
        let asleep = step.kind == StepKind::Sleep;
        self.asleep = shortest.filter(|_| asleep).map(|index| (index, step.until));
        step
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Commands, READ, WRITE};
    use super::*;
    use joulio_units::Direction;

    fn plan(policy: &mut Pas, commands: &[(Class, u64)], now: u64) -> Step {
        let steps = policy.steps();
        policy.plan(&Commands(commands.to_vec()), steps, Nanos(now))
    }

    /// Returns the lengths of a class's sleeps under these reports, one for each I/O, the first sleep first.
    fn lengths(policy: &mut Pas, class: Class, reports: &[Slept]) -> Vec<u64> {
        let mut lengths = Vec::new();
        for (i, &report) in reports.iter().enumerate() {
            let now = (i as u64 + 1) * 1_000_000_000_000;
            let step = plan(policy, &[(class, now)], now);
            assert_eq!(step.kind, StepKind::Sleep);
            lengths.push(step.until.0 - now);
            policy.woke(report, step.until);
        }
        lengths
    }

    const U: Slept = Slept::Under;
    const O: Slept = Slept::Over;

    #[test]
    fn a_run_of_short_sleeps_lengthens_by_a_growing_factor() {
        let mut policy = Pas::new();
        // 1.01, 1.02, 1.03, ... from 0.1 us on; UP stays at a tenth of DOWN's maximum.
        let grown = lengths(&mut policy, READ, &[U; 6]);
        assert_eq!(grown, [100, 101, 103, 106, 110, 115]);
        // Nothing was learnt about writes.
        let now = 1 << 60;
        let step = plan(&mut policy, &[(WRITE, now)], now);
        assert_eq!(step.until, Nanos(now + 100));
    }

    /// The four cases of the rule with UP = 0.01 and DOWN = 0.1, from 1 us.
    #[test]
    fn each_pair_of_reports_has_its_factor() {
        let next = |before, factor, now| {
            let mut sleep = Sleep {
                length: 1_000,
                factor,
                up: Pas::UP,
                down: Pas::DOWN,
                last: before,
            };
            sleep.learn(now);
            sleep.length
        };
        assert_eq!(next(U, 1_050_000, U), 1_060);
        assert_eq!(next(O, 700_000, U), 1_010);
        assert_eq!(next(U, 1_300_000, O), 900);
        assert_eq!(next(O, 900_000, O), 800);
        // A factor that would become zero is one.
        assert_eq!(next(O, 100_000, O), 1_000);
    }

    #[test]
    fn reports_that_differ_cool_down_and_those_alike_heat_up() {
        let mut sleep = Pas::new().sleeps[0];
        sleep.learn(O);
        assert_eq!((sleep.up, sleep.down), (9_000, 90_000));
        for _ in 0..100 {
            sleep.learn(U);
            sleep.learn(O);
        }
        assert_eq!((sleep.up, sleep.down), (1_000, 10_000));
        sleep.learn(O);
        assert_eq!((sleep.up, sleep.down), (1_050, 10_500));
        for _ in 0..100 {
            sleep.learn(O);
        }
        assert_eq!((sleep.up, sleep.down), (10_000, 100_000));
    }

    #[test]
    fn a_sleep_too_long_at_the_floor_stays_there_and_is_counted() {
        let mut policy = Pas::new();
        assert_eq!(lengths(&mut policy, READ, &[O, O, U]), [100, 100, 100]);
        assert_eq!(policy.take_floors(), 2);
        assert_eq!(policy.take_floors(), 0);
    }

    #[test]
    fn no_run_of_reports_lengthens_a_sleep_past_the_ceiling() {
        let mut policy = Pas::new();
        let grown = lengths(&mut policy, READ, &[U; 1_000]);
        assert_eq!(grown.last(), Some(&Pas::CEILING.0));
    }

    #[test]
    fn a_sleep_that_ended_early_teaches_nothing_and_is_not_had_again() {
        let mut policy = Pas::new();
        assert_eq!(plan(&mut policy, &[(READ, 10)], 20).until, Nanos(120));
        policy.woke(O, Nanos(119));
        assert_eq!(plan(&mut policy, &[(READ, 10)], 119), Step::SPIN);
        policy.woke(O, Nanos(130));
        assert_eq!(plan(&mut policy, &[(READ, 200)], 200).until, Nanos(300));
        assert_eq!(policy.take_floors(), 0);
    }

    #[test]
    fn a_flush_is_polled_for() {
        let flush = Class::new(Direction::Other, 0);
        assert_eq!(plan(&mut Pas::new(), &[(flush, 10)], 20), Step::SPIN);
    }

    #[test]
    fn the_shortest_sleep_of_several_commands_is_had_and_learns() {
        let mut policy = Pas::new();
        lengths(&mut policy, READ, &[U; 5]);
        let now = 1 << 60;
        let both = [(READ, now), (WRITE, now)];
        assert_eq!(plan(&mut policy, &both, now).until, Nanos(now + 100));
        policy.woke(U, Nanos(now + 100));
        let now = now + 1_000;
        assert_eq!(
            plan(&mut policy, &[(WRITE, now)], now).until,
            Nanos(now + 101)
        );
        let now = now + 1_000;
        assert_eq!(
            plan(&mut policy, &[(READ, now)], now).until,
            Nanos(now + 115)
        );
    }
}
