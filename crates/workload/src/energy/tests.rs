//! Tests of the energy figures of a run.

use super::*;
use joulio_energy::{About, How, MeterFigure, MeterKind, Source, WindowError, Zone};
use joulio_units::Nanos;
use joulio_units::{Joules, Watts};

const WINDOW: Nanos = Nanos(2_000_000_000);

fn energy(zone: Zone, name: &str, joules: f64) -> Energy {
    Energy {
        boundary: zone.boundary,
        place: zone.place,
        source: name.into(),
        modelled: false,
        idle_subtracted: false,
        joules: Joules(joules),
        error: Some(Joules(0.5)),
        band: None,
        window: WINDOW,
        how: How::Summed,
    }
}

fn measured(zone: Zone, name: &str, figure: Result<f64, WindowError>) -> MeterResult {
    MeterResult {
        figure: figure.map(|joules| MeterFigure {
            total: energy(zone.clone(), name, joules),
            above_idle: Some(Energy {
                idle_subtracted: true,
                ..energy(zone.clone(), name, joules - 4.0)
            }),
        }),
        about: About {
            name: name.into(),
            source: Source::Perf,
            zone,
            kind: MeterKind::Counter {
                step: Joules(0.1),
                update: Nanos::from_millis(1),
                wraps_after: None,
            },
            slow: false,
            modelled: false,
            notes: Vec::new(),
        },
    }
}

#[test]
fn packages_are_added_and_their_cores_are_not() {
    let meters = [
        measured(package(0), "perf:package-0", Ok(10.0)),
        measured(package(1), "perf:package-1", Ok(20.0)),
        measured(Zone::package(Boundary::Cores, 0), "perf:cores-0", Ok(6.0)),
    ];
    let done = WorkDone {
        ios: 1000,
        bytes: 4_096_000,
        window: WINDOW,
    };
    let (figures, without) = figures(&meters, None, done);
    assert!(without.is_empty());
    let figures_of: Vec<_> = figures
        .iter()
        .map(|f| (f.zone.as_str(), f.idle_subtracted, f.joules))
        .collect();
    assert_eq!(
        figures_of,
        [
            ("package-0", false, 10.0),
            ("package-1", false, 20.0),
            ("cores-0", false, 6.0),
            ("package-0", true, 6.0),
            ("package-1", true, 16.0),
            ("cores-0", true, 2.0),
            ("package-0 + package-1", false, 30.0),
            ("package-0 + package-1", true, 22.0),
        ]
    );
    let sum = &figures[6];
    assert_eq!((sum.watts, sum.error_joules), (15.0, Some(1.0)));
    assert_eq!(sum.joules_per_io, Some(0.03));
    assert!((sum.ios_per_joule.unwrap() - 1000.0 / 30.0).abs() < 1e-9);
    assert!(!sum.is_model() && !sum.modelled);
}

fn package(n: u32) -> Zone {
    Zone::package(Boundary::Package, n)
}

const DONE: WorkDone = WorkDone {
    ios: 1000,
    bytes: 4_096_000,
    window: WINDOW,
};

fn zones(figures: &[EnergyResult]) -> Vec<&str> {
    figures.iter().map(|figure| figure.zone.as_str()).collect()
}

#[test]
fn packages_whose_windows_ended_apart_have_their_sum() {
    let mut meters = [
        measured(package(0), "perf:package-0", Ok(10.0)),
        measured(package(1), "perf:package-1", Ok(20.0)),
    ];
    let late = &mut meters[1].figure.as_mut().unwrap().total;
    late.window = WINDOW + Nanos::from_millis(100);
    let (figures, without) = figures(&meters, None, DONE);
    assert!(without.is_empty(), "{without:?}");
    let sum = figures.iter().find(|figure| figure.zone.contains('+'));
    let watts = sum.expect("a sum").watts;
    assert!((watts - (5.0 + 20.0 / 2.1)).abs() < 1e-9, "{watts}");
}

#[test]
fn a_sum_that_cannot_be_had_says_why() {
    let failed = || WindowError::Suspended { slept: WINDOW };
    let meters = [
        measured(package(0), "perf:package-0", Ok(10.0)),
        measured(package(1), "perf:package-1", Err(failed())),
    ];
    let listed = |without: &[Unmetered]| -> Vec<(String, String)> {
        let reasons = without.iter();
        reasons
            .map(|one| (one.meter.clone(), one.why.clone()))
            .collect()
    };
    let (found, without) = figures(&meters, None, DONE);
    assert_eq!(zones(&found), ["package-0", "package-0"]);
    let (both, why) = ("package-0 + package-1", "perf:package-1 has no figure");
    assert_eq!(
        listed(&without),
        [
            ("perf:package-1".into(), failed().to_string()),
            (both.into(), why.into()),
            (format!("{both}, above idle"), why.into()),
        ]
    );
    let mut meters = [
        measured(package(0), "perf:package-0", Ok(10.0)),
        measured(package(1), "perf:package-1", Ok(20.0)),
    ];
    let second = meters[1].figure.as_mut().unwrap();
    second.above_idle = None;
    second.total.window = WINDOW + WINDOW;
    let (_, without) = figures(&meters, None, DONE);
    let listed = listed(&without);
    assert_eq!(listed[0].0, both);
    assert!(listed[0].1.contains("2.000 s and 4.000 s"), "{listed:?}");
    assert!(
        listed[1].1.contains("not in the idle baseline"),
        "{listed:?}"
    );
}

#[test]
fn two_readers_of_each_package_give_one_sum_and_no_complaint() {
    let meters = [
        measured(package(0), "perf:package-0", Ok(10.0)),
        measured(package(1), "perf:package-1", Ok(20.0)),
        measured(package(0), "powercap:package-0", Ok(10.1)),
        measured(package(1), "powercap:package-1", Ok(20.1)),
    ];
    let (figures, without) = figures(&meters, None, DONE);
    assert!(without.is_empty(), "{without:?}");
    let sums = figures.iter().filter(|figure| figure.zone.contains('+'));
    let sums: Vec<_> = sums.map(|sum| sum.joules).collect();
    assert_eq!(sums, [30.0, 22.0]);
}

#[test]
fn a_run_shorter_than_its_meters_window_pays_for_its_own_time() {
    let meters = [measured(
        Zone::machine(Boundary::Wall),
        "hwmon:psu",
        Ok(8.0),
    )];
    let done = WorkDone {
        ios: 10,
        bytes: 0,
        window: Nanos(1_000_000_000),
    };
    let (figures, _) = figures(&meters, None, done);
    assert_eq!((figures[0].watts, figures[0].joules), (4.0, 8.0));
    assert_eq!(
        figures[0].joules_per_io,
        Some((Watts(4.0) * done.window).0 / 10.0)
    );
    assert_eq!(figures[0].bytes_per_joule, Some(0.0));
}

#[test]
fn a_meter_without_a_figure_says_why() {
    let short = WindowError::TooShort {
        window: Nanos(5),
        needed: WINDOW,
    };
    let meters = [measured(
        Zone::machine(Boundary::Psys),
        "perf:psys",
        Err(short.clone()),
    )];
    let done = WorkDone {
        ios: 0,
        bytes: 0,
        window: Nanos(5),
    };
    let (figures, without) = figures(&meters, None, done);
    assert!(figures.is_empty());
    assert_eq!(
        without,
        [Unmetered {
            meter: "perf:psys".into(),
            why: short.to_string(),
            too_short: true,
        }]
    );
}

#[test]
fn a_sensor_beside_a_drive_is_not_added_to_the_drives_own_meter() {
    let part = |name: &str| Zone {
        boundary: Boundary::Device,
        place: joulio_energy::Place::Part(name.into()),
    };
    let mut meters = ["ina226", "/dev/nvme0"].map(|name| measured(part(name), name, Ok(10.0)));
    meters[0].about.source = Source::Hwmon;
    meters[1].about.source = Source::Nvme;
    let (figures, without) = figures(&meters, None, DONE);
    assert!(without.is_empty(), "{without:?}");
    assert!(
        zones(&figures).iter().all(|zone| !zone.contains('+')),
        "{figures:?}"
    );
}
