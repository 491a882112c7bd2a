//! The policy on a modelled core with one I/O out at a time.

use super::promise::Promise;
use super::*;
use crate::policies::testing::{Commands, READ, WRITE};
use joulio_units::{Percentile, SloLimit};
use proptest::prelude::*;

mod lateness;
mod properties;
mod shared;

const MICRO: u64 = 1_000;
const FLUSH: Class = Class::new(joulio_units::Direction::Other, 0);

/// A core whose steps take as long, and draw as much, as in [`WaitCosts::generic`].
struct Core {
    policy: Adaptive,
    costs: WaitCosts,
    now: u64,
    /// Nanojoules of all waits.
    joules: f64,
    /// Nanoseconds by which timers fire later than the costs say.
    lag: u64,
    /// Nanoseconds by which blocks end later than the costs say.
    block_lag: u64,
    /// Kinds of the steps that were taken.
    steps: Vec<StepKind>,
}

impl Core {
    fn new(promised: Promised) -> Core {
        let costs = WaitCosts::generic();
        let goal = Goal {
            promised,
            ..Goal::default()
        };
        Core {
            policy: Adaptive::new(costs.clone(), goal, 1, Adaptive::STEPS),
            costs,
            now: 1_000_000,
            joules: 0.0,
            lag: 0,
            block_lag: 0,
            steps: Vec::new(),
        }
    }

    /// Runs one I/O of `class` that takes `time`. Returns the nanoseconds by which it is seen late.
    fn io(&mut self, class: Class, time: u64) -> u64 {
        let submitted = self.now;
        let done = submitted + time;
        self.policy.submitted(class, Nanos(submitted));
        let seen = loop {
            let commands = Commands(vec![(class, submitted)]);
            let step = self
                .policy
                .plan(&commands, Adaptive::STEPS, Nanos(self.now));
            self.steps.push(step.kind);
            let until = step.until.0;
            assert!(until > self.now, "{step:?} at {}", self.now);
            match step.kind {
                StepKind::Spin => {
                    let end = done.min(until).max(self.now);
                    self.joules += (end - self.now) as f64 * self.costs.spin.0;
                    self.now = end;
                    if done <= end {
                        break end;
                    }
                }
                StepKind::Sleep => {
                    let over = self.sleep(until, done);
                    if over {
                        break self.now;
                    }
                }
                StepKind::Block => {
                    let asleep = self.now + self.costs.block_before.0;
                    let after = self.costs.block_after.0 + self.block_lag;
                    let over = done <= until;
                    self.wake(asleep, done.min(until), after, self.costs.interrupt.0);
                    if over {
                        break self.now;
                    }
                    let over = done <= self.now;
                    let slept = if over { Slept::Over } else { Slept::Under };
                    self.policy.woke(slept, Nanos(self.now));
                    if over {
                        break self.now;
                    }
                }
                kind => panic!("{kind:?} is not among the steps"),
            }
        };
        self.policy.completed(class, Nanos(submitted), Nanos(seen));
        self.now = seen + 300;
        seen - done
    }

    /// Lets `time` pass with no I/O out.
    fn gap(&mut self, time: u64) {
        let end = self.now + time;
        while self.now < end {
            let now = Nanos(self.now);
            let nothing = Commands(Vec::new());
            let step = self.policy.plan(&nothing, Adaptive::STEPS, now);
            self.steps.push(step.kind);
            self.now = step.until.0.min(end);
            if step.kind == StepKind::Block {
                self.policy.woke(Slept::Under, Nanos(self.now));
            }
        }
    }

    fn sleep(&mut self, until: u64, done: u64) -> bool {
        let asleep = self.now + self.costs.sleep_before.0;
        let after = self.costs.sleep_after.0;
        self.wake(asleep, until + self.lag, after, self.costs.timer.0);
        let over = done <= self.now;
        let slept = if over { Slept::Over } else { Slept::Under };
        self.policy.woke(slept, Nanos(self.now));
        over
    }

    /// Idles from `asleep` until `event`, then is awake after the exit and `after`.
    fn wake(&mut self, asleep: u64, event: u64, after: u64, joules: f64) {
        let event = event.max(asleep);
        let state = self.costs.idle_of((event - asleep) as f64);
        let kernel = asleep - self.now + after;
        let idle = event - asleep + state.exit.0;
        self.joules +=
            kernel as f64 * self.costs.kernel.0 + idle as f64 * state.watts.0 + joules * 1e9;
        self.now = event + state.exit.0 + after;
    }

    /// Returns the least cost of an I/O of `time` on a core that knows when it completes. If the governor would
    /// choose a shallower state for a wait that is shorter by the break-even time, that state counts: a threshold is
    /// no fault of a policy.
    fn oracle(&self, time: u64) -> f64 {
        let asleep = |shorter: u64| {
            let idle = time.saturating_sub(self.costs.sleep_before.0);
            let state = self.costs.idle_of(idle.saturating_sub(shorter) as f64);
            let kernel = self.costs.sleep_before.0 + self.costs.sleep_after.0;
            let idle = idle + state.exit.0;
            kernel as f64 * self.costs.kernel.0
                + idle as f64 * state.watts.0
                + self.costs.timer.0 * 1e9
        };
        let dearer = asleep(0).max(asleep(self.costs.break_even() as u64));
        dearer.min(time as f64 * self.costs.spin.0)
    }

    fn took(&mut self, kind: StepKind) -> bool {
        std::mem::take(&mut self.steps).contains(&kind)
    }
}

fn slo(p99: u64, p999: u64) -> Promised {
    let limit = |percentile, latency| SloLimit {
        percentile,
        latency: Nanos(latency),
    };
    let limits = [limit(Percentile::P99, p99), limit(Percentile::P99_9, p999)];
    Promised::Slo(joulio_units::Slo::new(&limits).unwrap())
}

/// Returns pseudo-random numbers from 0 to 1.
fn random(seed: &mut u64) -> f64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 40) as f64 / (1_u64 << 24) as f64
}

#[test]
fn a_device_that_keeps_its_time_is_slept_for_and_never_kept_waiting() {
    let mut core = Core::new(slo(110 * MICRO, 120 * MICRO));
    let learning: u64 = (0..2_000)
        .map(|_| core.io(READ, 100 * MICRO))
        .max()
        .unwrap();
    assert!(learning < 10 * MICRO, "{learning}");
    core.took(StepKind::Sleep);
    let (before, late) = (
        core.joules,
        (0..500).map(|_| core.io(READ, 100 * MICRO)).max(),
    );
    assert!(core.took(StepKind::Sleep));
    assert_eq!(late, Some(0));
    let spinning = 500.0 * 100.0 * MICRO as f64 * core.costs.spin.0;
    let spent = core.joules - before;
    assert!(spent < 0.5 * spinning, "{spent} of {spinning}");
}

#[test]
fn a_sleep_ends_before_the_governor_would_choose_a_state_that_takes_too_long_to_leave() {
    let promised = slo(45 * MICRO, 50 * MICRO);
    let mut core = Core::new(promised);
    let deep = core.costs.idle.len() - 1;
    (core.costs.idle[deep].chosen, core.costs.idle[deep].exit) = (Nanos(25_000), Nanos(200_000));
    let goal = Goal {
        promised,
        ..Goal::default()
    };
    core.policy = Adaptive::new(core.costs.clone(), goal, 1, Adaptive::STEPS);
    for _ in 0..2_000 {
        core.io(READ, 40 * MICRO);
    }
    core.took(StepKind::Sleep);
    let before = core.joules;
    let late = (0..500).map(|_| core.io(READ, 40 * MICRO)).max();
    assert!(core.took(StepKind::Sleep));
    assert_eq!(late, Some(0));
    let spinning = 500.0 * 40.0 * MICRO as f64 * core.costs.spin.0;
    assert!(core.joules - before < 0.9 * spinning);
}

#[test]
fn a_device_too_fast_to_sleep_for_is_watched() {
    let mut core = Core::new(slo(4 * MICRO, 5 * MICRO));
    for _ in 0..200 {
        core.io(READ, 3 * MICRO);
    }
    core.steps.clear();
    let late = (0..1_000).map(|_| core.io(READ, 3 * MICRO)).max();
    assert_eq!(late, Some(0));
    assert!(core.steps.iter().all(|kind| *kind == StepKind::Spin));
}

#[test]
fn slow_ios_are_blocked_for() {
    let mut core = Core::new(slo(20_000 * MICRO, 30_000 * MICRO));
    let mut seed = 7;
    let mut time = move || (5e6 + 1e7 * random(&mut seed)) as u64;
    for _ in 0..400 {
        core.io(READ, time());
    }
    core.steps.clear();
    let before = core.joules;
    for _ in 0..400 {
        core.io(READ, time());
    }
    assert!(
        core.steps.iter().all(|kind| *kind == StepKind::Block),
        "{:?}",
        core.steps
    );
    let spinning = 400.0 * 1e7 * core.costs.spin.0;
    assert!(core.joules - before < spinning / 10.0);
}

#[test]
fn a_device_that_gets_slower_or_quicker_is_followed_within_some_tens_of_ios() {
    let mut core = Core::new(slo(2_000 * MICRO, 2_200 * MICRO));
    for _ in 0..500 {
        core.io(READ, 80 * MICRO);
    }
    for _ in 0..100 {
        core.io(READ, 800 * MICRO);
    }
    core.steps.clear();
    let before = core.joules;
    for _ in 0..50 {
        core.io(READ, 800 * MICRO);
    }
    assert!(core.joules - before < 0.6 * 50.0 * 800.0 * MICRO as f64 * core.costs.spin.0);
    // The device is quicker now, and its I/Os must not be slept through.
    for _ in 0..200 {
        core.io(READ, 80 * MICRO);
    }
    let late = (0..100).map(|_| core.io(READ, 80 * MICRO)).max();
    assert!(late.unwrap() < 20 * MICRO, "{late:?}");
}

#[test]
fn reads_and_writes_are_learnt_apart() {
    let mut core = Core::new(slo(250 * MICRO, 300 * MICRO));
    for _ in 0..2_000 {
        core.io(READ, 100 * MICRO);
        core.io(WRITE, 20 * MICRO);
    }
    core.steps.clear();
    assert!(core.io(WRITE, 20 * MICRO) <= 10 * MICRO);
    assert!(core.io(READ, 100 * MICRO) <= 10 * MICRO);
    assert!(core.took(StepKind::Sleep));
}

#[test]
fn flushes_do_not_use_up_the_account_of_writes() {
    for flushes in [false, true] {
        let mut core = Core::new(Promised::Nothing);
        for _ in 0..500 {
            core.io(WRITE, 80 * MICRO);
            if flushes {
                core.io(FLUSH, 1_000 * MICRO);
            }
        }
        assert!(!core.policy.0.account.is_overdrawn(), "{flushes}");
        core.steps.clear();
        core.io(WRITE, 80 * MICRO);
        assert_ne!(core.steps.first(), Some(&StepKind::Spin), "{flushes}");
    }
}

#[test]
fn a_core_without_ios_is_idle_within_ten_milliseconds() {
    for promised in [Promised::Nothing, Promised::default(), slo(20_000, 30_000)] {
        let mut core = Core::new(promised);
        for _ in 0..100 {
            core.io(READ, 10 * MICRO);
        }
        let quiet = core.now;
        let mut steps = 0;
        loop {
            let now = Nanos(core.now);
            let step = core
                .policy
                .plan(&Commands(Vec::new()), Adaptive::STEPS, now);
            steps += 1;
            if step == Step::BLOCK {
                break;
            }
            assert_eq!(step.kind, StepKind::Spin);
            core.now = step.until.0;
        }
        assert!(core.now - quiet <= 10_000 * MICRO + 1 && steps < 4);
        // That stays so, whatever wakes the core.
        core.now += 1_000_000 * MICRO;
        let step = core
            .policy
            .plan(&Commands(Vec::new()), Adaptive::STEPS, Nanos(core.now));
        assert_eq!(step, Step::BLOCK);
    }
}

#[test]
fn an_unknown_slow_io_is_watched_until_a_block_is_within_the_promise_and_the_next_is_blocked_for() {
    let mut core = Core::new(Promised::budget(0.05));
    let delay = core.costs.block_delay(f64::INFINITY);
    let mut new = core.policy.clone();
    new.submitted(READ, Nanos(core.now));
    let commands = Commands(vec![(READ, core.now)]);
    let step = new.plan(&commands, Adaptive::STEPS, Nanos(core.now));
    assert_eq!(step.kind, StepKind::Spin);
    let watched = (step.until.0 - core.now) as f64;
    assert!(
        (1.0..2.0).contains(&(watched / (delay / 0.05))),
        "{watched}"
    );
    let time = 12_000 * MICRO;
    let late = core.io(READ, time);
    assert!(late as f64 <= 0.05 * time as f64, "{late}");
    assert!(core.took(StepKind::Block));
    for _ in 0..15 {
        core.io(READ, time);
        let steps = std::mem::take(&mut core.steps);
        assert_eq!(steps[0], StepKind::Block, "{steps:?}");
    }
}

#[test]
fn an_unknown_io_that_a_block_could_make_too_late_is_watched_to_its_end() {
    let mut core = Core::new(Promised::budget(0.05));
    for _ in 0..16 {
        assert_eq!(core.io(READ, 80 * MICRO), 0);
    }
    assert!(!core.took(StepKind::Block));
}
