//! Windows over counters: their edges, their lengths, and wraps of the counters.

use crate::common::*;
use joulio_energy::{Baseline, Energy, Host, How, Meters, WindowError};
use joulio_units::Nanos;
use proptest::prelude::*;
use std::sync::Arc;

proptest! {
    #[test]
    fn a_windows_energy_is_within_its_error(
        phase in 0u64..5_000_000,
        length in 1_000_000_000u64..60_000_000_000,
        draws in 1.0f64..400.0,
        start in any::<u32>(),
    ) {
        let rate = Rate { start: start.into(), ..Rate::watts(draws) };
        let mut machine = machine(SECOND + Nanos(phase), [rate, Rate::watts(1.0)]);
        let window = machine.meters.open_unsampled();
        machine.clock.advance(Nanos(length));
        let energy = totals(window.close(None)).remove(0);
        let truth = draws * energy.window.seconds();
        let error = energy.error.expect("known").0;
        prop_assert!((energy.joules.0 - truth).abs() <= error, "{energy:?} {truth}");
        // The kernel's conversion has an error of a few parts in a million, and no smaller error is claimed.
        prop_assert!(error < 0.01 + truth * 1e-4, "{error}");
        let aligned = matches!(energy.how, How::Counted { aligned: true, .. });
        prop_assert!(aligned);
    }
}

#[test]
fn edges_lie_on_updates_of_the_counter() {
    // Halfway between two updates, at both ends.
    let half = Nanos(500_000);
    let mut machine = machine(SECOND + half, [Rate::watts(100.0), Rate::watts(1.0)]);
    let window = machine.meters.open_unsampled();
    let opened = machine.clock.peek();
    let late = opened.0 % 1_000_000;
    assert!(late < 50_000, "{late} ns after an update");
    machine.clock.set(Nanos(3 * SECOND.0) + half);
    let energy = &totals(window.close(None))[0];
    assert!(
        (energy.window.seconds() - 2.0).abs() < 50e-6,
        "{}",
        energy.window.seconds()
    );
}

#[test]
fn a_counter_that_stands_still_falls_back_after_ten_milliseconds() {
    let rates = [
        Rate::watts(100.0),
        Rate {
            update: SECOND,
            ..Rate::watts(1.0)
        },
    ];
    let mut machine = machine(SECOND + Nanos::from_millis(100), rates);
    let begun = machine.clock.peek();
    let window = machine.meters.open_unsampled();
    let spun = machine.clock.peek().since(begun);
    assert!(
        (10..12).contains(&(spun.0 / 1_000_000)),
        "spun for {} ns",
        spun.0
    );
    machine.clock.advance(Nanos(2 * SECOND.0));
    let energies = totals(window.close(None));
    assert!(matches!(
        energies[0].how,
        How::Counted { aligned: true, .. }
    ));
    assert!(matches!(
        energies[1].how,
        How::Counted { aligned: false, .. }
    ));
    // Ten milliseconds at one watt at each edge, and the steps.
    let error = energies[1].error.unwrap().0;
    assert!((0.018..0.03).contains(&error), "{error}");
}

#[test]
fn a_step_at_each_edge_is_in_the_error() {
    // Steps of a millijoule; at one milliwatt there is no other error.
    let meter = counter(None);
    let (mut meters, clock) = alone(&meter);
    meter.show([total(1.0), total(1.001), total(1.003), total(1.004)]);
    let window = meters.open_unsampled();
    clock.advance(Nanos(3 * SECOND.0));
    let energy = &totals(window.close(None))[0];
    assert!((energy.joules.0 - 0.003).abs() < 1e-9, "{}", energy.joules);
    let error = energy.error.expect("known").0;
    assert!((error - 0.002).abs() < 1e-6, "{error}");
}

#[test]
fn a_clock_that_stands_still_does_not_hang() {
    #[derive(Debug)]
    struct Still;
    impl joulio_energy::Clock for Still {
        fn now(&self) -> Nanos {
            SECOND
        }
        fn suspended(&self) -> Nanos {
            Nanos::ZERO
        }
    }
    let meter = counter(None);
    meter.show([total(1.0)]);
    let mut meters = Meters::new(vec![Box::new(meter)], Arc::new(Still));
    let measured = meters.open_unsampled().close(None);
    assert!(matches!(
        error(&measured[0]),
        WindowError::TooShort {
            window: Nanos::ZERO,
            ..
        }
    ));
}

#[test]
fn less_than_a_second_is_refused_and_the_lap_goes_on() {
    let mut machine = watts(50.0);
    let mut window = machine.meters.open_unsampled();
    machine.clock.advance(Nanos::from_millis(900));
    for measured in window.lap(None) {
        let WindowError::TooShort { window, needed } = error(&measured) else {
            panic!("{:?}", measured.figure);
        };
        assert!(
            (0.89..0.92).contains(&window.seconds()) && *needed == SECOND,
            "{window:?}"
        );
    }
    machine.clock.advance(Nanos::from_millis(900));
    let energy = &totals(window.lap(None))[0];
    assert!((1.8..1.82).contains(&energy.window.seconds()));
    assert!((energy.watts().0 - 50.0).abs() < 0.01);
}

#[test]
fn laps_leave_nothing_out_and_count_nothing_twice() {
    let mut machine = machine(SECOND, [Rate::watts(100.0), Rate::watts(1.0)]);
    let begun = machine.clock.peek();
    let mut window = machine.meters.open_unsampled();
    let mut seconds = 0.0;
    let mut joules = 0.0;
    for lap in 1..=5 {
        machine.clock.advance(Nanos(lap * SECOND.0));
        let energy = totals(window.lap(None)).remove(0);
        seconds += energy.window.seconds();
        joules += energy.joules.0;
    }
    let whole = machine.clock.peek().since(begun).seconds();
    assert!((whole - seconds).abs() < 3e-3, "{whole} {seconds}");
    assert!((joules - 100.0 * seconds).abs() < 3e-3, "{joules}");
}

#[test]
fn a_counter_that_wraps_once_is_followed() {
    // One millijoule before the 32 bits overflow.
    let rate = Rate {
        start: (1 << 32) - 16 - (500_000_000_000 / 61_035),
        ..Rate::watts(500.0)
    };
    let mut machine = machine(SECOND, [rate, Rate::watts(1.0)]);
    let window = machine.meters.open_unsampled();
    machine.clock.advance(SECOND);
    let energy = &totals(window.close(None))[0];
    assert!((energy.watts().0 - 500.0).abs() < 0.5, "{}", energy.watts());
}

#[test]
fn a_counter_that_may_have_wrapped_twice_has_no_figure() {
    let mut machine = watts(100.0);
    let window = machine.meters.open_unsampled();
    // 262 kJ at one kilowatt take 262 s.
    machine.clock.advance(Nanos(263 * SECOND.0));
    for measured in window.close(None) {
        let WindowError::Unread { gap, limit } = error(&measured) else {
            panic!("{:?}", measured.figure);
        };
        assert_eq!(
            (gap.seconds().round(), limit.seconds().round()),
            (263.0, 262.0)
        );
    }
}

#[test]
fn a_counter_that_wraps_twice_is_followed_by_ticks() {
    // At 700 W the counter wraps after 375 s.
    let mut machine = machine(SECOND, [Rate::watts(700.0), Rate::watts(1.0)]);
    let mut window = machine.meters.open_unsampled();
    for _ in 0..10 {
        machine.clock.advance(Nanos(131 * SECOND.0));
        window.tick();
    }
    let energy = &totals(window.close(None))[0];
    let truth = 700.0 * energy.window.seconds();
    assert!(truth > 3.0 * 262_143.0);
    assert!(
        (energy.joules.0 - truth).abs() < truth * 5e-6,
        "{} {truth}",
        energy.joules
    );
}

fn host() -> Host {
    Host {
        machine: "m".into(),
        kernel: "k".into(),
        governors: vec![],
    }
}

#[test]
fn what_is_idle_is_taken_off_with_its_error() {
    let mut machine = watts(50.0);
    let window = machine.meters.open_unsampled();
    machine.clock.advance(Nanos(60 * SECOND.0));
    let mut baseline = Baseline::new(host(), 0, &window.close(None));
    assert_eq!(baseline.meters.len(), 2);
    assert!((baseline.meters[0].watts - 50.0).abs() < 0.01);
    // As if the idle machine had drawn 30 W, known to within half a watt.
    (baseline.meters[0].watts, baseline.meters[0].error_watts) = (30.0, 0.5);
    baseline.meters.pop();

    let window = machine.meters.open_unsampled();
    machine.clock.advance(Nanos(10 * SECOND.0));
    let mut figures = figures(window.close(Some(&baseline)));
    assert_eq!(
        figures.pop().unwrap().unwrap().above_idle,
        None,
        "the baseline does not know it"
    );
    let figure = figures.pop().unwrap().unwrap();
    let above = figure.above_idle.expect("known");
    assert!(above.idle_subtracted && !figure.total.idle_subtracted);
    assert!((above.watts().0 - 20.0).abs() < 0.01, "{}", above.watts());
    let more = above.error.unwrap().0 - figure.total.error.unwrap().0;
    assert!((more - 5.0).abs() < 0.01, "{more}");
}

#[test]
fn another_meters_idle_power_is_not_taken_off() {
    let mut machine = watts(50.0);
    let mut window = machine.meters.open_unsampled();
    machine.clock.advance(Nanos(10 * SECOND.0));
    let mut baseline = Baseline::new(host(), 0, &window.lap(None));
    // The same zone, read through another interface.
    baseline.meters[0].meter = "perf:package-0".into();
    machine.clock.advance(Nanos(10 * SECOND.0));
    let known = figures(window.close(Some(&baseline))).into_iter();
    let known: Vec<_> = known
        .map(|f| f.expect("a figure").above_idle.is_some())
        .collect();
    assert_eq!(known, [false, true]);
}

/// Two counters with the same edge can be added even if the thread is preempted between them, as on a busy machine.
#[test]
fn packages_add_up_though_one_is_read_later_than_the_other() {
    let mut machine = watts(10.0);
    let window = machine.meters.open_unsampled();
    machine.clock.advance(Nanos(2 * SECOND.0));
    let late = machine.tree.path(PACKAGE_1);
    machine.files.takes(late, Nanos::from_millis(60));
    let parts = totals(window.close(None));
    let apart = parts[1].window.since(parts[0].window);
    assert!(apart > Nanos::from_millis(40), "{parts:?}");
    let sum = Energy::sum(&parts).expect("the machine's packages");
    let error = (sum.error.expect("known") / sum.window).0;
    assert!((sum.watts().0 - 30.0).abs() < error, "{sum:?}");
    // The energy of 20 W in the 60 ms that only one counter includes, over two seconds.
    assert!((0.59..0.65).contains(&error), "{error} W");
}
