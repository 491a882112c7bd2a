//! Windows over meters of power.

use crate::common::*;
use joulio_energy::{Boundary, How, MeterKind, Meters, WindowError};
use joulio_units::{Joules, Nanos, Watts};
use std::sync::Arc;

#[test]
fn power_is_integrated_by_trapezoids() {
    let meter = power(Nanos::from_millis(100));
    let (mut meters, clock) = alone(&meter);
    meter.show([now(10.0), now(20.0), now(10.0), now(30.0)]);
    let mut window = meters.open_unsampled();
    for _ in 0..2 {
        clock.advance(Nanos::from_millis(500));
        window.tick();
    }
    clock.advance(Nanos::from_millis(500));
    let energy = &totals(window.close(None))[0];
    // 7.5 + 7.5 + 10 J.
    assert!((energy.joules.0 - 25.0).abs() < 1e-3, "{}", energy.joules);
    let How::Sampled {
        samples,
        missed,
        longest_gap,
    } = energy.how
    else {
        panic!("{:?}", energy.how);
    };
    assert_eq!((samples, missed, longest_gap.0 / 1_000_000), (4, 0, 500));
    // 10, 10 and 20 W for half a second each, halved; and 20 W of span in 100 ms at each edge.
    assert!(
        (energy.error.unwrap().0 - (10.0 + 4.0)).abs() < 1e-3,
        "{:?}",
        energy.error
    );
}

#[test]
fn a_sensors_rounding_is_in_the_error() {
    let update = Nanos::from_millis(1_000);
    let meter = Scripted::new(
        "p",
        Boundary::Wall,
        MeterKind::Power {
            step: Watts(1.0),
            update,
        },
    );
    let (mut meters, clock) = alone(&meter);
    meter.show([now(100.0)]);
    let window = meters.open_unsampled();
    clock.advance(Nanos(4 * SECOND.0));
    let energy = &totals(window.close(None))[0];
    assert!(
        (energy.error.unwrap().0 - 2.0).abs() < 1e-3,
        "{:?}",
        energy.error
    );
}

#[test]
fn a_reading_that_is_missed_is_counted_and_bridged() {
    let meter = power(Nanos::from_millis(100));
    let (mut meters, clock) = alone(&meter);
    meter.show([now(10.0), passing(), now(10.0)]);
    let mut window = meters.open_unsampled();
    clock.advance(Nanos::from_millis(600));
    window.tick();
    clock.advance(Nanos::from_millis(300));
    window.tick();
    clock.advance(Nanos::from_millis(300));
    let energy = &totals(window.close(None))[0];
    assert!((energy.joules.0 - 12.0).abs() < 1e-3, "{}", energy.joules);
    assert!(
        matches!(
            energy.how,
            How::Sampled {
                samples: 3,
                missed: 1,
                ..
            }
        ),
        "{:?}",
        energy.how
    );
}

#[test]
fn power_that_was_not_read_for_long_has_no_integral() {
    let meter = power(Nanos::from_millis(100));
    let (mut meters, clock) = alone(&meter);
    meter.show([now(10.0)]);
    let window = meters.open_unsampled();
    clock.advance(Nanos(3600 * SECOND.0));
    assert!(matches!(
        error(&window.close(None)[0]),
        WindowError::Unread { .. }
    ));
}

#[test]
fn the_mean_of_a_minute_says_nothing_of_a_second() {
    let minute = Nanos(60 * SECOND.0);
    let meter = power(minute);
    let (mut meters, clock) = alone(&meter);
    meter.show([now(10.0)]);
    let window = meters.open_unsampled();
    clock.advance(Nanos(30 * SECOND.0));
    let measured = window.close(None);
    assert!(
        matches!(error(&measured[0]), WindowError::TooShort { needed, .. } if *needed == minute)
    );
}

#[test]
fn an_edge_that_fails_once_is_tried_again() {
    let meter = power(Nanos::from_millis(100));
    let (mut meters, clock) = alone(&meter);
    meter.show([passing(), now(10.0), passing(), now(10.0)]);
    let window = meters.open_unsampled();
    clock.advance(SECOND);
    assert!((totals(window.close(None))[0].watts().0 - 10.0).abs() < 1e-6);
}

#[test]
fn slow_meters_come_last_and_are_read_first() {
    let clock = TestClock::at(SECOND);
    let (slow, quick) = (power(SECOND).slow(), counter(None));
    slow.show([now(10.0)]);
    quick.show([total(0.0), total(1.0), total(2.0), total(3.0)]);
    let mut meters = Meters::new(vec![Box::new(slow), Box::new(quick)], clock.clone());
    let names: Vec<_> = meters.about().into_iter().map(|about| about.name).collect();
    assert_eq!(names, ["c", "p"]);
    let window = meters.open_unsampled();
    clock.advance(Nanos(2 * SECOND.0));
    let energies = totals(window.close(None));
    assert_eq!(
        (energies[0].joules, energies[0].source.as_str()),
        (Joules(2.0), "c")
    );
    assert!(energies[1].window > energies[0].window);
}

#[test]
fn threads_read_power_meters_between_the_edges() {
    let (quick, slow) = (power(Nanos::from_millis(100)), power(SECOND).slow());
    quick.show([now(10.0)]);
    slow.show([now(10.0)]);
    let clock = Arc::new(joulio_energy::Monotonic);
    let both = vec![Box::new(quick.clone()) as _, Box::new(slow.clone()) as _];
    let mut meters = Meters::new(both, clock);
    let window = meters.open().expect("threads");
    // More readings than the edges need.
    while quick.reads() < 4 || slow.reads() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let energies = totals(window.close(None));
    for (energy, (meter, period)) in energies.iter().zip([(&quick, 0.1), (&slow, 1.0)]) {
        let How::Sampled { samples, .. } = energy.how else {
            panic!("{:?}", energy.how)
        };
        // Two edges, and between them at most ten readings, or one per second.
        assert_eq!(samples, meter.reads());
        let max = 2.0 + energy.window.seconds() / period;
        assert!(samples as f64 <= max, "{samples} of {max}");
    }
}

#[test]
fn a_window_that_is_dropped_ends_its_threads() {
    let meter = power(Nanos::from_millis(100));
    meter.show([now(10.0)]);
    let clock = Arc::new(joulio_energy::Monotonic);
    let mut meters = Meters::new(vec![Box::new(meter)], clock);
    for _ in 0..50 {
        drop(meters.open().expect("threads"));
    }
    let names = std::fs::read_dir("/proc/self/task")
        .expect("threads")
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    // Another test in this process may have one or two such threads.
    assert!(
        names
            .filter(|name| name.starts_with("joulio-meters"))
            .count()
            < 10
    );
}
