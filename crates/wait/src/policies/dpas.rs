//! Dynamic PAS: adaptive sleeps, polling or interrupts, by the load.

use crate::{Class, Outstanding, Pas, Policy, Slept, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// DPAS of "DPAS: A Prompt, Accurate and Safe I/O Completion Method for SSDs" (FAST'26), with the states and
/// parameters of its published kernel (block/blk-mq.c, `switch_param1` to `7`). A mode lasts for a number of I/Os. At
/// its end the next mode follows from the mean number of outstanding commands over these I/Os, and from whether a
/// sleep would have been shorter than PAS allows:
///
/// | mode | I/Os | then |
/// |---|---|---|
/// | adaptive sleep | 100 | a sleep below the floor: overload; one command: polling |
/// | polling | 1000 | adaptive sleep |
/// | overload (sleeps as PAS does) | 100 | one command: adaptive sleep; more than theta: interrupts |
/// | interrupts | 10000 | overload |
///
/// There the depth is the number of threads that sleep on a core for an I/O each; here one thread
/// waits for a queue, and it is the number of commands outstanding on that.
#[derive(Clone, Debug)]
pub struct Dpas {
    pas: Pas,
    theta: u32,
    mode: Mode,
    /// Number of I/Os of this mode, and the sum of their depths.
    ios: u64,
    depths: u64,
    outstanding: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Sleep,
    Poll,
    Overload,
    Interrupt,
}

impl Dpas {
    /// Depth above which an overloaded core changes to interrupts: the paper's value for flash, and its kernel's
    /// default. The paper uses 3 for Optane.
    pub const THETA: u32 = 1;
    /// Number of I/Os of adaptive sleep and of overload.
    pub const WINDOW: u64 = 100;
    /// Number of I/Os of polling.
    pub const POLLED: u64 = 1_000;
    /// Number of I/Os of interrupts.
    pub const INTERRUPTED: u64 = 10_000;

    /// Creates a policy that begins with adaptive sleep; `theta` is [`Dpas::THETA`] or another
    /// depth.
    pub fn new(theta: u32) -> Dpas {
        Dpas {
            pas: Pas::new(),
            theta,
            mode: Mode::Sleep,
            ios: 0,
            depths: 0,
            outstanding: 0,
        }
    }

    fn next(&mut self) -> Mode {
        let floors = self.pas.take_floors();
        let tenths = self.depths.saturating_mul(10) / self.ios.max(1);
        match self.mode {
            Mode::Sleep if floors > 0 => Mode::Overload,
            Mode::Sleep if tenths == 10 => Mode::Poll,
            Mode::Sleep | Mode::Poll => Mode::Sleep,
            Mode::Overload if tenths <= 10 => Mode::Sleep,
            Mode::Overload if tenths > u64::from(self.theta) * 10 => Mode::Interrupt,
            Mode::Overload | Mode::Interrupt => Mode::Overload,
        }
    }
}

impl Mode {
    fn lasts(self) -> u64 {
        match self {
            Mode::Sleep | Mode::Overload => Dpas::WINDOW,
            Mode::Poll => Dpas::POLLED,
            Mode::Interrupt => Dpas::INTERRUPTED,
        }
    }
}

impl Policy for Dpas {
    fn name(&self) -> Cow<'static, str> {
        match self.theta {
            Dpas::THETA => "dpas".into(),
            theta => format!("dpas={theta}").into(),
        }
    }

    fn steps(&self) -> StepSet {
        self.pas.steps().with(StepKind::Block)
    }

    fn timed(&self) -> bool {
        true
    }

    fn learning(&self) -> Nanos {
        self.pas.learning()
    }

    fn submitted(&mut self, _: Class, _: Nanos) {
        self.outstanding += 1;
        self.ios += 1;
        self.depths += self.outstanding;
        if self.ios >= self.mode.lasts() {
            self.mode = self.next();
            (self.ios, self.depths) = (0, 0);
        }
    }

    fn completed(&mut self, _: Class, _: Nanos, _: Nanos) {
        self.outstanding = self.outstanding.saturating_sub(1);
    }

    fn woke(&mut self, slept: Slept, at: Nanos) {
        self.pas.woke(slept, at);
    }

    fn plan(&mut self, outstanding: &dyn Outstanding, can: StepSet, now: Nanos) -> Step {
        // A queue that was reset ends commands without a completion.
        self.outstanding = outstanding.count() as u64;
        match self.mode {
            Mode::Sleep | Mode::Overload => self.pas.plan(outstanding, can, now),
            Mode::Poll => Step::SPIN,
            Mode::Interrupt => Step::BLOCK,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Commands, READ};
    use super::*;
    use std::collections::VecDeque;

    struct Simulation {
        policy: Dpas,
        now: u64,
        flying: VecDeque<u64>,
    }

    impl Simulation {
        fn new(theta: u32) -> Simulation {
            Simulation {
                policy: Dpas::new(theta),
                now: 1_000,
                flying: VecDeque::new(),
            }
        }

        /// Simulates `ios` I/Os with `depth` outstanding; each sleep has the same report.
        fn ios(&mut self, ios: u64, depth: usize, report: Slept) -> Mode {
            for _ in 0..ios {
                while self.flying.len() >= depth {
                    let at = Nanos(self.flying.pop_front().unwrap());
                    self.policy.completed(READ, at, Nanos(self.now));
                }
                self.policy.submitted(READ, Nanos(self.now));
                self.flying.push_back(self.now);
                let commands = self.flying.iter().map(|&at| (READ, at)).collect();
                let steps = self.policy.steps();
                let step = self
                    .policy
                    .plan(&Commands(commands), steps, Nanos(self.now));
                self.policy.woke(report, step.until);
                self.now += 1_000_000;
            }
            self.policy.mode
        }
    }

    const U: Slept = Slept::Under;
    const O: Slept = Slept::Over;

    #[test]
    fn one_command_at_a_time_is_polled_for_a_thousand_ios_then_slept_for_again() {
        let mut simulation = Simulation::new(Dpas::THETA);
        assert_eq!(simulation.ios(99, 1, U), Mode::Sleep);
        assert_eq!(simulation.ios(1, 1, U), Mode::Poll);
        assert_eq!(simulation.ios(999, 1, U), Mode::Poll);
        assert_eq!(simulation.ios(1, 1, U), Mode::Sleep);
    }

    #[test]
    fn several_commands_whose_sleeps_are_long_enough_go_on_sleeping() {
        let mut simulation = Simulation::new(Dpas::THETA);
        assert_eq!(simulation.ios(1_000, 8, U), Mode::Sleep);
    }

    #[test]
    fn a_sleep_below_the_floor_is_overload_and_depth_makes_it_interrupts() {
        let mut simulation = Simulation::new(Dpas::THETA);
        assert_eq!(simulation.ios(100, 4, O), Mode::Overload);
        assert_eq!(simulation.ios(99, 4, O), Mode::Overload);
        assert_eq!(simulation.ios(1, 4, O), Mode::Interrupt);
        assert_eq!(simulation.ios(9_999, 4, O), Mode::Interrupt);
        assert_eq!(simulation.ios(1, 4, O), Mode::Overload);
        // The load is gone: the depth is one again, and sleeps are tried.
        assert_eq!(simulation.ios(100, 1, O), Mode::Sleep);
    }

    #[test]
    fn theta_is_the_depth_that_overload_bears() {
        let mut simulation = Simulation::new(3);
        assert_eq!(simulation.ios(100, 3, O), Mode::Overload);
        assert_eq!(simulation.ios(1_000, 3, O), Mode::Overload);
        assert_eq!(simulation.ios(100, 4, O), Mode::Interrupt);
        assert_eq!(simulation.policy.name(), "dpas=3");
    }

    #[test]
    fn at_depth_one_a_timer_too_slow_for_the_device_never_leads_to_polling() {
        let mut simulation = Simulation::new(Dpas::THETA);
        for _ in 0..5 {
            assert_eq!(simulation.ios(100, 1, O), Mode::Overload);
            assert_eq!(simulation.ios(100, 1, O), Mode::Sleep);
        }
    }

    #[test]
    fn each_mode_plans_its_own_steps() {
        let mut policy = Dpas::new(Dpas::THETA);
        let one = Commands(vec![(READ, 10)]);
        let steps = policy.steps();
        let step = policy.plan(&one, steps, Nanos(20));
        assert_eq!(step, Step::sleep_until(Nanos(120)));
        policy.mode = Mode::Poll;
        assert_eq!(policy.plan(&one, steps, Nanos(200)), Step::SPIN);
        policy.mode = Mode::Interrupt;
        assert_eq!(policy.plan(&one, steps, Nanos(200)), Step::BLOCK);
    }
}
