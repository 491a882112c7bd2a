//! Traces with a planted offset, and traces without a marker.

use super::*;
use crate::logger::DateOrder;
use crate::{Boundary, Place};
use joulio_units::Watts;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};

const SECOND: u64 = 1_000_000_000;
/// The machine's time at the first edge of the first marker.
const START: Nanos = Nanos(1_660_000_000 * SECOND);

/// A machine with a logger.
#[derive(Clone, Debug)]
struct Planted {
    /// The logger's clock less the machine's at [`START`], in seconds, and its drift.
    offset: f64,
    drift_ppm: f64,
    /// Seconds between the beginnings of two markers.
    apart: f64,
    base: f64,
    /// Watts that spinning adds.
    step: f64,
    /// Noise of a sample, to either side, in watts.
    noise: f64,
    /// Each sample is missing with this probability.
    missing: f64,
    /// A sample is the mean of the second before.
    averaged: bool,
    /// Phase of the logger's samples within a second, in seconds.
    phase: f64,
    seed: u64,
}

impl Planted {
    fn noiseless() -> Planted {
        Planted {
            offset: 17.3,
            drift_ppm: 0.0,
            apart: 600.0,
            base: 90.0,
            step: 40.0,
            noise: 0.0,
            missing: 0.0,
            averaged: false,
            phase: 0.0,
            seed: 1,
        }
    }

    fn marker(start: f64) -> Marker {
        let edge = |at: u32| {
            let time = start + 5.0 * f64::from(at);
            MarkerEdge {
                realtime: moved(START, time),
                monotonic: moved(Nanos(SECOND), time),
                rising: at.is_multiple_of(2),
            }
        };
        Marker {
            edges: (0..6).map(edge).collect(),
        }
    }

    fn markers(&self) -> [Marker; 2] {
        [Planted::marker(0.0), Planted::marker(self.apart)]
    }

    /// Watts of the machine: the markers, and between them a run of half their step.
    fn watts(&self, time: f64) -> f64 {
        let spins = |start: f64| {
            let since = time - start;
            (0.0..30.0).contains(&since) && since % 10.0 < 5.0
        };
        let run = (60.0..self.apart - 60.0).contains(&time);
        let spins = spins(0.0) || spins(self.apart);
        self.base
            + self.step * f64::from(u8::from(spins))
            + self.step / 2.0 * f64::from(u8::from(run))
    }

    /// Makes a logger's record, from 100 s before the first marker to 100 s after the last.
    fn log(&self) -> PowerLog {
        let mut random = rand_pcg::Pcg64::seed_from_u64(self.seed);
        let first = (self.offset - 100.0).floor();
        let count = (self.apart + 230.0) as u32;
        let mut samples = vec![];
        for second in 0..count {
            let logger = first + self.phase + f64::from(second);
            // The logger is `offset + drift * time` ahead.
            let host = (logger - self.offset) / (1.0 + self.drift_ppm * 1e-6);
            let watts = match self.averaged {
                // Closely enough: the middles of a hundred parts.
                true => {
                    (0..100)
                        .map(|part| self.watts(host - (f64::from(part) + 0.5) / 100.0))
                        .sum::<f64>()
                        / 100.0
                }
                false => self.watts(host),
            };
            let noise = self.noise * random.random_range(-1.0..=1.0);
            if !random.random_bool(self.missing) {
                samples.push((moved(START, logger), Watts(watts + noise)));
            }
        }
        of(samples, self.averaged)
    }
}

fn of(samples: Vec<(Nanos, Watts)>, averaged: bool) -> PowerLog {
    PowerLog {
        start: samples.first().map_or(START, |(at, _)| *at),
        offset: 0,
        date_order: DateOrder::MonthDayYear,
        interval: Nanos(SECOND),
        averaged,
        samples,
        events: vec![],
        serials: vec!["7".into()],
        gaps: vec![],
        truncated: false,
    }
}

fn aligned(planted: &Planted) -> Result<Alignment, AlignError> {
    align(
        &planted.log(),
        &planted.markers(),
        &AlignmentLimits::default(),
    )
}

prop_compose! {
    fn planted()(
        offset in -600.0..600.0, drift_ppm in prop::sample::select(vec![-23.0, 0.0, 23.0]),
        apart in 200.0..7200.0, base in 20.0..400.0, step in 5.0..150.0, noise in prop_oneof![0.0..0.05, 0.0..0.5],
        missing in prop::sample::select(vec![0.0, 0.05]), averaged: bool, phase in 0.0..1.0, seed: u64,
    ) -> Planted {
        Planted { offset, drift_ppm, apart, base, step, noise: noise * step, missing, averaged, phase, seed }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_planted_offset_is_found_to_half_a_sample(planted in planted()) {
        let alignment = aligned(&planted).unwrap();
        // Beyond half a sample the noise of a strong one moves it, and that is reported.
        let reported = alignment.uncertainty;
        let half = if planted.noise <= planted.step / 20.0 { 0.5375 } else { reported };
        for time in [0.0, planted.apart / 2.0, planted.apart + 30.0] {
            let host = moved(START, time);
            let real = moved(START, time + planted.offset + time * planted.drift_ppm * 1e-6);
            let apart = seconds_between(real, alignment.logger_time(host));
            prop_assert!(apart.abs() <= reported.min(half) + 1e-6, "{} s at {}: {:?}", apart, time, alignment);
        }
    }

    #[test]
    fn a_trace_without_a_marker_is_refused(planted in planted()) {
        let mut log = planted.log();
        // The markers' seconds are replaced by idle ones.
        for (at, watts) in &mut log.samples {
            let host = seconds_between(START, *at) - planted.offset;
            if !(50.0..planted.apart - 50.0).contains(&host) {
                watts.0 = planted.base + host % 7.0 / 7.0 * planted.noise;
            }
        }
        let refused = align(&log, &planted.markers(), &AlignmentLimits::default());
        prop_assert!(matches!(refused, Err(AlignError::Weak { .. })), "{:?}", refused);
    }
}

#[test]
fn means_give_the_offset_far_below_a_sample_and_the_drift() {
    let planted = Planted {
        averaged: true,
        apart: 36_000.0,
        drift_ppm: 23.0,
        phase: 0.37,
        ..Planted::noiseless()
    };
    let alignment = aligned(&planted).unwrap();
    let drift = alignment.drift_ppm.unwrap();
    assert!((drift - 23.0).abs() < 1.0, "{drift}");
    let apart = alignment.markers[0].offset - planted.offset;
    assert!(apart.abs() < 0.02, "{apart}");
    assert!(alignment.residual.unwrap() < 0.05, "{alignment:?}");
    assert!(
        alignment.correlation > 0.99 && alignment.runner_up < 0.8,
        "{alignment:?}"
    );
}

#[test]
fn one_marker_gives_an_offset_without_a_drift() {
    let planted = Planted::noiseless();
    let mut log = planted.log();
    log.samples.truncate(400);
    let alignment = align(&log, &planted.markers()[..1], &AlignmentLimits::default()).unwrap();
    assert_eq!(alignment.drift_ppm, None);
    assert!((alignment.offset - 17.3).abs() <= 0.5);
    let far = alignment.logger_time(moved(START, 3600.0));
    assert!((seconds_between(START, far) - 3617.3).abs() <= 0.5);
}

#[test]
fn a_drift_is_not_drawn_out_beyond_the_markers() {
    let planted = Planted {
        averaged: true,
        drift_ppm: 150.0,
        apart: 20_000.0,
        ..Planted::noiseless()
    };
    let alignment = aligned(&planted).unwrap();
    let ahead = |time| {
        let host = moved(START, time);
        seconds_between(host, alignment.logger_time(host))
    };
    assert!(
        (ahead(20_000.0) - ahead(0.0) - 3.0).abs() < 0.05,
        "{alignment:?}"
    );
    assert_eq!(ahead(90_000.0), ahead(20_100.0));
    assert_eq!(ahead(-90_000.0), ahead(-100.0));
}

#[test]
fn an_edge_without_all_its_samples_is_not_in_the_residual() {
    let planted = Planted {
        averaged: true,
        missing: 0.1,
        ..Planted::noiseless()
    };
    let alignment = aligned(&planted).unwrap();
    assert!(alignment.residual.unwrap() < 0.05, "{alignment:?}");
}

#[test]
fn a_repeated_pattern_is_refused_as_ambiguous() {
    let planted = Planted {
        apart: 300.0,
        ..Planted::noiseless()
    };
    // One marker was recorded, and the trace shows two.
    let one = align(
        &planted.log(),
        &planted.markers()[..1],
        &AlignmentLimits::default(),
    );
    assert!(matches!(one, Err(AlignError::Ambiguous { .. })), "{one:?}");
    assert!(aligned(&planted).is_ok());
}

#[test]
fn what_is_no_marker_is_refused() {
    let log = Planted::noiseless().log();
    let refused = |change: &dyn Fn(&mut Vec<MarkerEdge>)| {
        let mut markers = Planted::noiseless().markers();
        change(&mut markers[1].edges);
        align(&log, &markers, &AlignmentLimits::default()).unwrap_err()
    };
    assert_eq!(
        align(&log, &[], &AlignmentLimits::default()),
        Err(AlignError::NoMarker)
    );
    assert_eq!(refused(&|edges| edges.clear()), AlignError::Marker(2));
    assert_eq!(refused(&|edges| edges.truncate(5)), AlignError::Marker(2));
    assert_eq!(refused(&|edges| edges.reverse()), AlignError::Marker(2));
    assert_eq!(
        refused(&|edges| edges[2].rising = false),
        AlignError::Marker(2)
    );
    assert_eq!(
        refused(&|edges| edges[3].realtime = edges[2].realtime),
        AlignError::Marker(2)
    );
    assert_eq!(
        refused(&|edges| edges[5].realtime = Nanos::MAX),
        AlignError::Marker(2)
    );
    assert_eq!(
        refused(&|edges| *edges = Planted::marker(0.0).edges),
        AlignError::Marker(2)
    );
    let set = refused(&|edges| edges[3].realtime += Nanos::from_millis(700));
    assert!(
        matches!(set, AlignError::ClockSet { marker: 2, .. }),
        "{set:?}"
    );
}

#[test]
fn a_log_that_cannot_show_a_marker_is_refused() {
    let planted = Planted::noiseless();
    let with = |change: &dyn Fn(&mut PowerLog)| {
        let mut log = planted.log();
        change(&mut log);
        align(&log, &planted.markers(), &AlignmentLimits::default()).unwrap_err()
    };
    let slow = with(&|log| log.interval = Nanos(10 * SECOND));
    assert!(matches!(slow, AlignError::TooSlow { .. }), "{slow:?}");
    let one = with(&|log| {
        log.samples.truncate(1);
        log.interval = Nanos::ZERO;
    });
    assert!(matches!(one, AlignError::TooSlow { .. }), "{one:?}");
    let short = with(&|log| log.samples.truncate(200));
    assert!(
        matches!(short, AlignError::Weak { marker: 2, .. }),
        "{short:?}"
    );
    let sparse = with(&|log| {
        log.samples
            .retain(|(at, _)| (at.0 / SECOND).is_multiple_of(2))
    });
    assert!(
        matches!(
            sparse,
            AlignError::Weak {
                correlation: 0.0,
                ..
            }
        ),
        "{sparse:?}"
    );
    let flat = with(&|log| log.samples.iter_mut().for_each(|(_, watts)| watts.0 = 90.0));
    assert!(
        matches!(flat, AlignError::Weak { marker: 1, .. }),
        "{flat:?}"
    );
}

#[test]
fn a_window_is_measured_without_its_edges() {
    for averaged in [false, true] {
        let planted = Planted {
            averaged,
            phase: 0.4,
            ..Planted::noiseless()
        };
        let (log, alignment) = (planted.log(), aligned(&planted).unwrap());
        let at = |time| moved(START, time);
        // The run is from 60 s to 540 s; an edge that were not discarded would be seen.
        let run = alignment.energy(&log, at(59.0), at(541.0)).unwrap();
        assert_eq!(
            (run.boundary, run.place.clone()),
            (Boundary::Wall, Place::Machine)
        );
        assert!(!run.modelled && !run.idle_subtracted && run.source == "logger 7");
        assert!((run.window.seconds() - 478.0).abs() < 1e-6);
        assert!((run.watts().0 - 110.0).abs() < 1e-9, "{}", run.watts());
        let idle = alignment.energy(&log, at(36.0), at(60.0)).unwrap();
        assert!((idle.watts().0 - 90.0).abs() < 1e-9, "{}", idle.watts());
    }
}

#[test]
fn a_window_that_the_trace_does_not_show_has_no_energy() {
    let planted = Planted::noiseless();
    let (mut log, alignment) = (planted.log(), aligned(&planted).unwrap());
    let at = |time| moved(START, time);
    let energy = |log: &PowerLog, from, to| alignment.energy(log, at(from), at(to));
    assert_eq!(
        energy(&log, 60.0, 65.5),
        Err(LoggedEnergyError::Short(Nanos::from_millis(5_500)))
    );
    assert!(matches!(
        energy(&log, 70.0, 60.0),
        Err(LoggedEnergyError::Short(_))
    ));
    assert!(
        matches!(energy(&log, -200.0, 60.0), Err(LoggedEnergyError::Outside(late, _)) if late > 90.0)
    );
    assert!(
        matches!(energy(&log, 60.0, 900.0), Err(LoggedEnergyError::Outside(_, early)) if early > 90.0)
    );
    log.samples
        .retain(|(at, _)| !(at.0 / SECOND).is_multiple_of(8));
    assert!(matches!(
        energy(&log, 100.0, 400.0),
        Err(LoggedEnergyError::Gaps { .. })
    ));
}

#[test]
fn a_few_missing_samples_are_as_the_others() {
    let planted = Planted {
        missing: 0.03,
        seed: 2,
        ..Planted::noiseless()
    };
    let (log, alignment) = (planted.log(), aligned(&planted).unwrap());
    let run = alignment
        .energy(&log, moved(START, 100.0), moved(START, 400.0))
        .unwrap();
    assert!(
        (run.joules.0 - 296.0 * 110.0).abs() < 1e-6,
        "{}",
        run.joules
    );
    let crate::How::Sampled {
        samples,
        missed,
        longest_gap,
    } = run.how
    else {
        panic!("{:?}", run.how)
    };
    assert!(missed > 0 && longest_gap > Nanos(SECOND));
    assert_eq!(samples + missed, 296);
}
