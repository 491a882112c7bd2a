//! Cores that other threads want.

use super::*;

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
