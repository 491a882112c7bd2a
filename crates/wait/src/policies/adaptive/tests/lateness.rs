//! Wake-ups that are later than the costs say.

use super::*;

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
