//! The policy on a modelled core with one I/O out at a time.

use super::promise::Promise;
use super::*;
use crate::policies::testing::{Commands, READ, WRITE};
use joulio_units::{Percentile, SloLimit};
use proptest::prelude::*;

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
fn a_timer_that_is_late_costs_few_ios_their_promise() {
    let (mut core, limit) = (Core::new(slo(105 * MICRO, 130 * MICRO)), 105 * MICRO);
    core.lag = 25 * MICRO;
    let ios = 4_000;
    let late = (0..ios).filter(|_| 100 * MICRO + core.io(READ, 100 * MICRO) > limit);
    let late = late.count();
    assert!(late <= ios / 100, "{late} of {ios}");
}

#[test]
fn a_late_timer_now_and_then_does_not_end_the_sleeps() {
    // Wake-ups as slow as in a virtual machine.
    let costs = WaitCosts {
        sleep_after: Nanos(20 * MICRO),
        block_after: Nanos(20 * MICRO),
        ..WaitCosts::generic()
    };
    let goal = Goal {
        promised: Promised::Nothing,
        ..Goal::default()
    };
    let mut core = Core {
        policy: Adaptive::new(costs.clone(), goal, 1, Adaptive::STEPS),
        costs,
        ..Core::new(Promised::Nothing)
    };
    for _ in 0..2_000 {
        core.io(READ, 70 * MICRO);
    }
    core.steps.clear();
    // Plans are made every 32 to 128 waits, so that some are made just after a late timer.
    for io in 0..10_000 {
        core.lag = if io % 67 == 0 { 160 * MICRO } else { 0 };
        core.io(READ, 70 * MICRO);
        assert!(core.took(StepKind::Sleep), "I/O {io}");
    }
}

#[test]
fn sleeps_that_a_burst_of_late_timers_ended_come_back_soon() {
    let mut core = Core::new(Promised::Nothing);
    let slept = |core: &mut Core, ios: usize| {
        let slept = |_: &usize| {
            core.io(READ, 70 * MICRO);
            core.took(StepKind::Sleep)
        };
        (0..ios).filter(slept).count()
    };
    assert!(slept(&mut core, 1_000) > 900);
    core.lag = 100 * MICRO;
    slept(&mut core, 200);
    assert_eq!(
        slept(&mut core, 64),
        0,
        "sleeps that end too late are of no use"
    );
    core.lag = 0;
    slept(&mut core, 8_000);
    assert!(slept(&mut core, 1_000) > 900);
    // Timers that stay late are tried ever more rarely.
    core.lag = 100 * MICRO;
    slept(&mut core, 20_000);
    let tried = slept(&mut core, 20_000);
    assert!((1..=20).contains(&tried), "{tried} sleeps");
}

#[test]
fn sleeps_of_another_queue_say_nothing_of_this_queues_timers() {
    let mut core = Core::new(slo(110 * MICRO, 120 * MICRO));
    for _ in 0..2_000 {
        core.io(READ, 100 * MICRO);
    }
    let submitted = Nanos(core.now);
    core.policy.submitted(READ, submitted);
    let commands = Commands(vec![(READ, core.now)]);
    let step = core.policy.plan(&commands, Adaptive::STEPS, submitted);
    assert_eq!(step.kind, StepKind::Sleep);
    let mut at = step.until + Nanos::from_micros(6);
    core.policy.woke(Slept::Over, at);
    core.policy.completed(READ, submitted, at);
    let timer = core.policy.0.lateness.timer();
    let slow = core.policy.0.lateness.slow();
    // This queue has nothing out while another one sleeps, and blocks with a deadline.
    for slept in [Slept::Under, Slept::Over, Slept::Under] {
        at += Nanos::from_millis(1);
        core.policy.woke(slept, at);
    }
    assert_eq!(core.policy.0.lateness.timer(), timer);
    assert_eq!(core.policy.0.lateness.slow(), slow);
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
fn on_a_core_that_others_want_it_gives_the_core_away_and_keeps_it_again_later() {
    let mut core = Core::new(slo(30 * MICRO, 5_000 * MICRO));
    let ios = |core: &mut Core, count: usize| {
        core.steps.clear();
        for _ in 0..count {
            core.io(READ, 6 * MICRO);
        }
        let away = |kind: &&StepKind| matches!(kind, StepKind::Sleep | StepKind::Block);
        core.steps.iter().filter(away).count()
    };
    ios(&mut core, 500);
    assert_eq!(
        ios(&mut core, 100),
        0,
        "spinning is cheaper where nobody waits"
    );
    for _ in 0..4 {
        core.policy.lost(Nanos::from_millis(2), Nanos(core.now));
    }
    ios(&mut core, 40);
    assert_eq!(ios(&mut core, 40), 40);
    // No thread takes any of its time for a tenth of a second.
    ios(&mut core, 20_000);
    assert_eq!(ios(&mut core, 40), 0);
}

#[test]
fn a_single_long_loss_is_enough_to_give_the_core_away() {
    let mut core = Core::new(slo(30 * MICRO, 5_000 * MICRO));
    for _ in 0..500 {
        core.io(READ, 6 * MICRO);
    }
    // Ten other threads had their turns one after the other.
    core.now += 40_000 * MICRO;
    let now = Nanos(core.now);
    core.policy.lost(Nanos::from_millis(40), now);
    assert!(core.policy.0.shared.is_crowded(now));
}

#[test]
fn timers_that_are_late_by_slices_show_that_others_want_the_core() {
    let slices = |lag: u64| {
        let mut core = Core::new(slo(1_000 * MICRO, 50_000 * MICRO));
        for _ in 0..500 {
            core.io(READ, 500 * MICRO);
        }
        assert!(core.steps.contains(&StepKind::Sleep));
        core.lag = lag;
        for _ in 0..8 {
            core.io(READ, 500 * MICRO);
        }
        core.policy.0.shared.is_crowded(Nanos(core.now))
    };
    assert!(slices(4_000 * MICRO));
    assert!(!slices(5 * MICRO), "that late are timers by themselves");
}

#[test]
fn ios_that_others_on_the_core_made_late_say_nothing_of_the_device() {
    let mut core = Core::new(slo(30 * MICRO, 5_000 * MICRO));
    for _ in 0..500 {
        core.io(READ, 6 * MICRO);
    }
    let place = READ.place();
    let late = |core: &mut Core, lost: bool| {
        for _ in 0..4 {
            let submitted = Nanos(core.now);
            core.policy.submitted(READ, submitted);
            let commands = Commands(vec![(READ, submitted.0)]);
            core.policy.plan(&commands, Adaptive::STEPS, submitted);
            core.now += 4_000 * MICRO;
            let now = Nanos(core.now);
            if lost {
                core.policy.lost(Nanos::from_millis(4), now);
            }
            core.policy.completed(READ, submitted, now);
        }
        core.policy.0.history[place].points().longest()
    };
    assert!(late(&mut core, true) < 7e3);
    assert!(
        late(&mut core, false) > 3e6,
        "else the device itself is slower"
    );
}

#[test]
fn a_shared_core_is_not_tried_while_a_slice_would_make_too_many_ios_late() {
    let mut promise = Promise::new(slo(30 * MICRO, 5_000 * MICRO), Nanos::ZERO);
    for _ in 0..4_000 {
        promise.seen(6 * MICRO);
    }
    promise.refresh(true);
    assert!(!promise.is_full_with(1.0), "four may be late");
    assert!(promise.is_full_with(8.0));
}

#[test]
fn what_a_wake_up_takes_is_known_by_what_was_polled_for() {
    let mut core = Core::new(Goal::default().promised);
    core.block_lag = 27 * MICRO;
    let mut seed = 1;
    let mut late = |core: &mut Core, count: usize| {
        let mut late = |_| core.io(READ, 20 * MICRO + (random(&mut seed) * 2e3) as u64) > 5 * MICRO;
        (0..count).map(&mut late).filter(|late| *late).count()
    };
    assert!(late(&mut core, 5_000) < 20);
    // Others have the core for a while.
    for _ in 0..4 {
        core.policy.lost(Nanos::from_millis(2), Nanos(core.now));
    }
    let given = late(&mut core, 1_000);
    assert!(given > 30, "it gives the core away: {given}");
    late(&mut core, 8_000);
    assert!(
        late(&mut core, 10_000) < 50,
        "the device is as quick as before"
    );
}

#[test]
fn on_a_core_that_others_want_it_keeps_the_core_where_only_that_is_in_time() {
    let mut core = Core::new(slo(8 * MICRO, 5_000 * MICRO));
    let blocks = |core: &mut Core, time: u64| {
        for _ in 0..4 {
            core.policy.lost(Nanos::from_millis(2), Nanos(core.now));
        }
        // What was learnt about other threads is forgotten first.
        for _ in 0..200 {
            core.io(READ, time);
        }
        core.steps.clear();
        for _ in 0..40 {
            core.io(READ, time);
        }
        let blocks = core.steps.iter().filter(|kind| **kind == StepKind::Block);
        blocks.count()
    };
    assert_eq!(blocks(&mut core, 6 * MICRO), 0, "a block would be too late");
    assert_eq!(blocks(&mut core, 3 * MICRO), 40, "it is in time");
    assert_eq!(blocks(&mut core, 60 * MICRO), 40, "nothing is");
}

#[test]
fn an_io_that_is_watched_for_is_not_blocked_for_because_another_is() {
    let mut core = Core::new(slo(8 * MICRO, 5_000 * MICRO));
    // The core is given away where that is in time, and where nothing is.
    for _ in 0..4 {
        core.policy.lost(Nanos::from_millis(2), Nanos(core.now));
    }
    for _ in 0..200 {
        core.io(READ, 6 * MICRO);
        core.io(WRITE, 60 * MICRO);
    }
    let (mut policy, start) = (core.policy, core.now);
    let mut out = Vec::new();
    let mut plan = |submitted: &[(Class, u64)], now: u64| {
        for &(class, at) in submitted {
            policy.submitted(class, Nanos(at));
            out.push((class, at));
        }
        policy.plan(&Commands(out.clone()), Adaptive::STEPS, Nanos(now))
    };
    let write = (WRITE, start);
    assert_eq!(plan(&[write], start + 100), Step::BLOCK);
    let at = start + 10 * MICRO;
    let step = plan(&[(READ, at)], at + 100);
    assert_eq!(step.kind, StepKind::Spin);
    // The newest of many I/Os does not decide for all, either.
    let more = [(READ, at + 200), (READ, at + 200), (WRITE, at + 300)];
    let step = plan(&more, at + 400);
    assert_eq!(step.kind, StepKind::Spin);
    // Once the reads take longer than any, there is nothing left to watch for.
    assert_eq!(plan(&[], step.until.0), Step::BLOCK);
}

/// Makes a time wrong by the factor `by`.
fn off(time: &mut Nanos, by: f64) {
    *time = Nanos::nearest(time.0 as f64 * by);
}

/// A cost by which the policy plans, and what makes it wrong by a factor.
type WrongCost = (&'static str, fn(&mut WaitCosts, f64));

/// All costs by which the policy plans.
const WRONG: [WrongCost; 20] = [
    ("poll", |costs, by| off(&mut costs.poll, by)),
    ("sleep_before", |costs, by| off(&mut costs.sleep_before, by)),
    ("sleep_after", |costs, by| off(&mut costs.sleep_after, by)),
    ("block_before", |costs, by| off(&mut costs.block_before, by)),
    ("block_after", |costs, by| off(&mut costs.block_after, by)),
    ("cold", |costs, by| {
        costs.cold.iter_mut().for_each(|time| off(time, by))
    }),
    ("pause_exit", |costs, by| off(&mut costs.pause_exit, by)),
    ("user_interrupt", |costs, by| {
        off(&mut costs.user_interrupt, by)
    }),
    ("around", |costs, by| off(&mut costs.around, by)),
    ("idle chosen", |costs, by| {
        costs
            .idle
            .iter_mut()
            .for_each(|idle| off(&mut idle.chosen, by))
    }),
    ("idle exit", |costs, by| {
        costs
            .idle
            .iter_mut()
            .for_each(|idle| off(&mut idle.exit, by))
    }),
    ("idle watts", |costs, by| {
        costs.idle.iter_mut().for_each(|idle| idle.watts.0 *= by)
    }),
    ("spin", |costs, by| costs.spin.0 *= by),
    ("kernel", |costs, by| costs.kernel.0 *= by),
    ("pause", |costs, by| costs.pause.0 *= by),
    ("monitor", |costs, by| costs.monitor.0 *= by),
    ("package", |costs, by| costs.package.0 *= by),
    ("wall", |costs, by| costs.wall.0 *= by),
    ("timer", |costs, by| costs.timer.0 *= by),
    ("interrupt", |costs, by| costs.interrupt.0 *= by),
];

/// Number of those that are times, which come first.
const TIMES: usize = 11;

/// Returns times of I/Os: constant, alternating, drifting, with a heavy tail, or random.
fn times(kind: u8, base: u64, count: usize, seed: u64) -> Vec<u64> {
    let mut seed = seed;
    let base = base as f64;
    let one = |index: usize| match kind {
        0 => base,
        1 => base * [1.0, 8.0][index % 2],
        2 => base * (1.0 + index as f64 / 200.0),
        3 => base / (0.02 + random(&mut seed)),
        _ => base * 2.0 * random(&mut seed),
    };
    (0..count).map(one).map(|time| time as u64 + 1).collect()
}

proptest! {
    /// Ski rental's bound, by the costs that the policy was given: if nothing is promised, a wait costs at most twice
    /// what it costs with knowledge of the future, and one wake-up.
    #[test]
    fn without_a_promise_it_costs_at_most_twice_the_oracle(
        kind in 0..5_u8, base in 1_000..500_000_u64, seed: u64
    ) {
        let mut core = Core::new(Promised::Nothing);
        let times = times(kind, base, 1_000, seed);
        for &time in &times {
            core.io(READ, time);
        }
        let oracle: f64 = times.iter().map(|time| core.oracle(*time)).sum();
        let wake = core.costs.break_even() * core.costs.spin.0;
        let bound = 2.0 * oracle + times.len() as f64 * wake;
        prop_assert!(core.joules <= bound, "{} of {bound}", core.joules);
    }

    /// With costs that are wrong by a factor of ten either way, one of them or all, few I/Os are late that would not
    /// have been otherwise, and the core uses at most a tenth more than one that spins.
    #[test]
    fn wrong_costs_break_no_promise_and_cost_little_more_than_spinning(
        wrong in prop_oneof![
            4 => (0..WRONG.len()).prop_map(|one| one..one + 1),
            1 => Just(0..TIMES),
            1 => Just(0..WRONG.len()),
        ],
        factor in prop_oneof![Just(0.1), Just(10.0)], base in 10_000..300_000_u64, seed: u64
    ) {
        let limit = base * 2;
        let promised = slo(limit, limit * 2);
        let mut core = Core::new(promised);
        let mut costs = WaitCosts::generic();
        for (_, change) in &WRONG[wrong.clone()] {
            change(&mut costs, factor);
        }
        let goal = Goal { promised, ..Goal::default() };
        core.policy = Adaptive::new(costs, goal, 1, Adaptive::STEPS);
        let (mut seed, mut late, mut very_late, mut spun) = (seed, 0, 0, 0.0);
        let ios = 3_000;
        for _ in 0..ios {
            let time = (base as f64 * (0.8 + 0.9 * random(&mut seed))) as u64;
            let had = time + core.io(READ, time);
            late += usize::from(had > limit);
            very_late += usize::from(had > 2 * limit);
            spun += time as f64 * core.costs.spin.0;
        }
        let names: Vec<_> = WRONG[wrong].iter().map(|(name, _)| *name).collect();
        let what = format!("{names:?} off by {factor} at {base} ns");
        prop_assert!(late <= ios / 100 + 10, "{what}: {late} of {ios} beyond p99");
        prop_assert!(very_late <= ios / 1_000 + 3, "{what}: {very_late} of {ios} beyond p99.9");
        prop_assert!(core.joules <= 1.1 * spun, "{what}: {} nJ, and spinning {spun}", core.joules);
    }

    /// A clock counts from when the machine was switched on, which has nothing to do with I/Os.
    #[test]
    fn plans_are_the_same_whenever_the_clock_began(
        promised in prop_oneof![
            Just(Promised::Nothing), Just(Promised::default()), Just(slo(40_000, 60_000)), Just(slo(700_000, 900_000))
        ],
        gaps in 0..3_000_000_u64, base in 3_000..600_000_u64, kind in 0..5_u8, seed: u64
    ) {
        let steps = |since: u64| {
            let mut core = Core::new(promised);
            core.now += since;
            for (index, time) in times(kind, base, 600, seed).into_iter().enumerate() {
                if gaps > 1_000 {
                    core.gap(gaps);
                }
                core.io(if index % 5 == 0 { WRITE } else { READ }, time);
            }
            core.steps
        };
        // A multiple at which times are as precise as before.
        prop_assert_eq!(steps(0), steps(1 << 52));
    }

    /// The policy plans only steps that it has, whatever the times, also with clocks that stand still or go back.
    #[test]
    fn it_plans_what_it_announced_whatever_it_is_told(
        events in proptest::collection::vec((0..7_u8, any::<u64>(), any::<u64>(), 0..5_usize), 0..300),
        promised in prop_oneof![
            Just(Promised::Nothing), Just(Promised::budget(0.0)), Just(Promised::default()),
            Just(slo(1, 1)), Just(slo(u64::MAX, u64::MAX))
        ]
    ) {
        let goal = Goal { promised, ..Goal::default() };
        let mut policy = Adaptive::new(WaitCosts::generic(), goal, 1, Adaptive::STEPS);
        for (kind, a, b, count) in events {
            let class = [READ, WRITE, FLUSH][count % 3];
            match kind {
                0 => policy.submitted(class, Nanos(a)),
                1 => policy.completed(class, Nanos(a), Nanos(b)),
                2 => policy.woke(Slept::Over, Nanos(a)),
                3 => policy.waited(Nanos(a), Nanos(b)),
                4 => policy.lost(Nanos(a), Nanos(b)),
                _ => {
                    let commands = Commands(vec![(class, b); count]);
                    let step = policy.plan(&commands, Adaptive::STEPS, Nanos(a));
                    prop_assert!(Adaptive::STEPS.has(step.kind));
                    prop_assert!(step.kind != StepKind::Sleep || step.until != Nanos::MAX);
                }
            }
        }
    }
}
