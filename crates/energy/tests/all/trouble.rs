//! Windows in which something fails.

use crate::common::*;
use joulio_energy::{MeterError, Meters, Select, WindowError};
use joulio_units::Nanos;
use std::io::ErrorKind;

#[test]
fn a_zone_that_vanishes_takes_only_its_own_figure_along() {
    let mut machine = watts(50.0);
    let window = machine.meters.open_unsampled();
    machine.clock.advance(Nanos(2 * SECOND.0));
    machine
        .files
        .fails(machine.tree.path(PACKAGE_0), ErrorKind::NotFound);
    let measured = window.close(None);
    assert_eq!(
        *error(&measured[0]),
        WindowError::Meter(MeterError::Removed {
            what: PACKAGE_0.into()
        })
    );
    let other = &measured[1].figure.as_ref().expect("a figure").total;
    assert!((other.watts().0 - 100.0).abs() < 0.01);
}

#[test]
fn a_folder_that_is_taken_out_is_a_zone_that_vanishes() {
    let (tree, clock) = (server(), TestClock::at(SECOND));
    let mut meters =
        Meters::discover(&tree.root().with_clock(clock.clone()), &Select::all()).meters;
    let mut window = meters.open_unsampled();
    clock.advance(SECOND);
    tree.remove("/sys/class/powercap/intel-rapl:1");
    window.tick();
    clock.advance(SECOND);
    let figures = figures(window.close(None));
    let gone: Vec<_> = figures.iter().map(Result::is_err).collect();
    assert_eq!(gone, [false, true, false, false]);
}

#[test]
fn a_zone_that_came_back_has_no_figure_until_the_next_lap() {
    let mut machine = watts(50.0);
    let path = machine.tree.path(PACKAGE_0);
    let mut window = machine.meters.open_unsampled();
    machine.files.fails(path.clone(), ErrorKind::NotFound);
    window.tick();
    machine.files.recovers(&path);
    machine.clock.advance(Nanos(2 * SECOND.0));
    assert!(window.lap(None)[0].figure.is_err());
    machine.clock.advance(Nanos(2 * SECOND.0));
    assert!((totals(window.lap(None))[0].watts().0 - 50.0).abs() < 0.01);
}

#[test]
fn a_meter_that_fails_at_the_start_has_no_figure() {
    let mut machine = watts(50.0);
    let path = machine.tree.path(PACKAGE_0);
    machine
        .files
        .fails(path.clone(), ErrorKind::PermissionDenied);
    let window = machine.meters.open_unsampled();
    machine.files.recovers(&path);
    machine.clock.advance(Nanos(2 * SECOND.0));
    let measured = window.close(None);
    assert!(matches!(
        error(&measured[0]),
        WindowError::Meter(MeterError::Denied { .. })
    ));
    assert!(measured[1].figure.is_ok());
}

#[test]
fn a_clock_that_goes_back_leaves_no_figure() {
    let mut machine = watts(50.0);
    let mut window = machine.meters.open_unsampled();
    machine.clock.set(Nanos::from_millis(500));
    let measured = window.lap(None);
    assert!(matches!(
        error(&measured[0]),
        WindowError::ClockWentBack { .. }
    ));
    // Measurements after that are valid again.
    machine.clock.advance(Nanos(2 * SECOND.0));
    assert!(window.close(None)[0].figure.is_ok());
}

#[test]
fn a_counter_that_was_reset_has_not_gone_round() {
    let (tree, clock) = (server(), TestClock::at(SECOND));
    let root = tree.root().with_clock(clock.clone());
    let mut meters = Meters::discover(&root, &"powercap:package-0".parse().unwrap()).meters;
    let mut window = meters.open_unsampled();
    let mut lap = |energy_uj: &str| {
        tree.file(PACKAGE_0, energy_uj);
        clock.advance(Nanos(2 * SECOND.0));
        window.lap(None).remove(0)
    };
    assert_eq!(
        *error(&lap("999000")),
        WindowError::Meter(MeterError::WentBack {
            what: PACKAGE_0.into(),
            from: 1_000_000,
            to: 999_000
        })
    );
    // The next window has no beginning; the one after it is valid.
    assert!(lap("3000000").figure.is_err());
    let figure = lap("43000000").figure.expect("a figure");
    assert!((figure.total.joules.0 - 40.0).abs() < 1e-6, "{figure:?}");
}

#[test]
fn a_machine_that_slept_leaves_no_figure() {
    let mut machine = watts(50.0);
    let mut window = machine.meters.open_unsampled();
    machine.clock.advance(Nanos(2 * SECOND.0));
    machine.clock.suspend(Nanos(60 * SECOND.0));
    for measured in window.lap(None) {
        assert_eq!(
            *error(&measured),
            WindowError::Suspended {
                slept: Nanos(60 * SECOND.0)
            }
        );
    }
    machine.clock.advance(Nanos(2 * SECOND.0));
    assert!(window.close(None)[0].figure.is_ok());
}

#[test]
fn what_a_machine_draws_asleep_is_not_in_the_window_that_goes_on() {
    let mut machine = watts(50.0);
    let mut window = machine.meters.open_unsampled();
    // A lap that is too short is joined with the next, but not across a sleep of 60 s.
    machine.clock.advance(Nanos(SECOND.0 / 2));
    machine.clock.suspend(Nanos(60 * SECOND.0));
    let asleep = Rate {
        start: 3_000_000_000_000 / 61_035,
        ..Rate::watts(50.0)
    };
    machine
        .files
        .counts_on(machine.tree.path(PACKAGE_0), asleep);
    assert!(matches!(
        error(&window.lap(None)[0]),
        WindowError::Suspended { .. }
    ));
    machine.clock.advance(Nanos(2 * SECOND.0));
    let total = totals(window.close(None)).remove(0);
    assert!((total.watts().0 - 50.0).abs() < 0.1, "{}", total.watts());
}
