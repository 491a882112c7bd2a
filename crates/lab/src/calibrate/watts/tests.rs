//! Calibration of a simulated machine with known watts, read through simulated RAPL files.

mod machine;

use super::activity::CoreActivity;
use super::block::Rounds;
use super::clock::ClockLaw;
use super::error::WattsError;
use super::figures::MeasuredWatts;
use super::found::Found;
use super::plan::{IdleStatePlan, Plan};
use super::profile::with_watts;
use super::protocol::Protocol;
use super::record::{RecordedOn, WattsRecord};
use crate::statistics::Interval;
use joulio_cpu::Depth;
use joulio_model::CoreState;
use joulio_model::{FigureKind, FrequencyRatio, MachineProfile, MeteredAt, Pick};
use joulio_units::Nanos;
use machine::{Simulated, Truth};

fn plan(truth: &Truth) -> Plan {
    let state = |name: &str, us, watts| IdleStatePlan {
        name: name.into(),
        latency: Nanos::from_micros(us),
        watts,
    };
    Plan {
        used: truth.cores,
        cores: truth.cores,
        packages: 1,
        waits: vec![
            (CoreActivity::SpinPause, None),
            (CoreActivity::Pause(Depth::C01), Some(CoreState::PauseC01)),
            (CoreActivity::Pause(Depth::C02), Some(CoreState::PauseC02)),
            (CoreActivity::Monitor(Depth::C02), None),
        ],
        idle: vec![
            state("POLL", 0, true),
            state("C1", 2, true),
            state("C1E", 10, true),
            state("C6", 133, false),
        ],
        without: Vec::new(),
        wakes: true,
        clocks: truth.clocks.clone(),
    }
}

fn measure(truth: &Truth, seed: u64, rounds: u32) -> Result<Found, WattsError> {
    let machine = Simulated::new(truth.clone(), seed);
    let plan = plan(truth);
    let (mut cores, mut joules) = (machine.cores(), machine.joules());
    let mut protocol = Protocol {
        rounds: Rounds {
            blocks: rounds,
            window: Nanos::from_millis(2_000),
        },
        cores: &mut cores,
        joules: &mut joules,
        tick: &mut || {},
    };
    let groups = plan.groups().into_iter();
    let groups: Result<Vec<_>, _> = groups.map(|group| protocol.measure(group)).collect();
    Found::of(&plan, &groups?)
}

/// Pairs every computed figure with the true one.
fn beside(found: &Found, truth: &Truth) -> Vec<(String, Interval, f64)> {
    let mut all = vec![
        ("uncore".into(), found.uncore, truth.uncore),
        ("idle".into(), found.awake[0].watts, truth.idle),
    ];
    for state in &found.states {
        let above = state.above_idle.unwrap_or_else(|| panic!("{state:?}"));
        let spin = truth.above_idle("spin");
        all.push((state.name.clone(), above, truth.above_idle(&state.name)));
        let below = state.below_spin;
        let saved = spin - truth.above_idle(&state.name);
        all.extend(below.map(|below| (format!("{} below spin", state.name), below, saved)));
    }
    for wake in &found.wakes {
        let joules = wake.joules.unwrap_or_else(|| panic!("{wake:?}"));
        all.push((
            format!("wake from {:?}", wake.state),
            joules,
            truth.wake_joules,
        ));
    }
    all
}

/// The simulation has noise, a linear and a periodic drift, an uncore that draws more with each busy core, wake-ups
/// whose handlers take time, and a counter that is updated every millisecond and wraps around.
#[test]
fn the_true_watts_lie_in_the_intervals() {
    let truth = Truth::default();
    let (mut all, mut outside) = (0, Vec::new());
    for seed in 0..12 {
        let found = measure(&truth, seed, 8).unwrap();
        for (name, interval, true_value) in beside(&found, &truth) {
            all += 1;
            let off = (interval.value - true_value).abs() / interval.half();
            // The interval must not be wide: the watts of a spinning core are known to 2 %.
            if name == "spin" {
                assert!(interval.half() < 0.02 * true_value, "{interval:?}");
            }
            assert!(
                off < 3.0,
                "{name} of seed {seed}: {true_value}, found {interval:?}"
            );
            if off > 1.0 {
                outside.push((name, seed));
            }
        }
    }
    assert!(all >= 12 * 17, "{all}");
    // One in twenty intervals may miss the true value, and more because none allows for the periodic drift.
    assert!(
        outside.len() * 12 <= all,
        "{} of {all}: {outside:?}",
        outside.len()
    );
}

/// Spinning is measured at three clocks, everything else at the highest.
#[test]
fn the_law_of_the_clock_is_found() {
    let truth = Truth {
        clocks: vec![3_000_000, 2_000_000, 1_200_000],
        ..Truth::default()
    };
    let found = measure(&truth, 4, 8).unwrap();
    let law = ClockLaw::of(&found.clocks, 0.0, 2.0).unwrap();
    let share = law.static_share;
    assert!(share.low < 0.3 && 0.3 < share.high, "{law:?}");
    assert!((law.exponent - 2.0).abs() < 0.5, "{law:?}");
    for (name, interval, true_value) in beside(&found, &truth) {
        let off = (interval.value - true_value).abs() / interval.half();
        assert!(off < 3.0, "{name}: {true_value}, found {interval:?}");
    }
    let base = MachineProfile::builtin("generic-server").unwrap();
    let profile = with_watts(&base, "generic-server", &measured(found));
    profile.validate().unwrap();
    let law = profile.frequency.unwrap();
    assert_eq!(law.reference_hertz.value, 3e9);
    assert_eq!(law.exponent.kind, FigureKind::Measured);
    let source = &law.static_share.source;
    assert!(source.contains("3 GHz, 2 GHz, 1.2 GHz"), "{source}");
}

/// A core that idles only in C1, as with intel_idle.max_cstate=1, draws more than one in C6.
#[test]
fn the_law_of_the_clock_makes_the_watts_that_were_measured() {
    let truth = Truth {
        clocks: vec![3_000_000, 2_000_000, 1_200_000],
        ..Truth::default()
    };
    let watts = MeasuredWatts {
        idle_state: Some("C1".into()),
        ..measured(measure(&truth, 4, 8).unwrap())
    };
    let base = MachineProfile::builtin("generic-server").unwrap();
    let profile = with_watts(&base, "generic-server", &watts);
    let law = profile.frequency.as_ref().unwrap();
    for clock in &watts.clocks {
        let ratio = FrequencyRatio::new(clock.hertz / law.reference_hertz.value).unwrap();
        let modelled = profile.core_watts.spin.value * law.factor(ratio, Pick::Value);
        let measured = clock.above_idle.unwrap().value + base.core_watts.c1.value;
        let off = modelled / measured - 1.0;
        assert!(off.abs() < 0.02, "{ratio:?}: {modelled} W of {measured}");
    }
}

#[test]
fn the_deepest_state_is_counted_once_where_it_is_not_c6() {
    let found = measure(&Truth::default(), 4, 8).unwrap();
    let base = MachineProfile::builtin("generic-server").unwrap();
    for (deepest, floor) in [("C1", &base.core_watts.c1), ("C1E", &base.core_watts.c1e)] {
        let watts = MeasuredWatts {
            idle_state: Some(deepest.into()),
            ..measured(found.clone())
        };
        let profile = with_watts(&base, "generic-server", &watts);
        profile.validate().unwrap();
        let core = &profile.core_watts;
        assert_eq!(core.c6.value, floor.value);
        let name = deepest.to_ascii_lowercase();
        let why = format!("{name} is the deepest state here");
        assert!(core.c6.source.contains(&why), "{}", core.c6.source);
        let uncore = profile.uncore_watts.as_ref().unwrap().value;
        let modelled = profile.base_watts.value + uncore + core.spin.value - core.c6.value;
        let measured = watts.awake[1].watts.value;
        assert!(
            (modelled - measured).abs() < 1e-6,
            "{deepest}: {modelled} W of {measured}"
        );
    }
}

/// A machine without a meter, and a logger at the plug with a clock that is 23.4 s ahead.
#[test]
fn windows_get_their_watts_from_a_logger_afterwards() {
    let truth = Truth {
        noise: 0.1,
        ..Truth::default()
    };
    let machine = Simulated::new(truth.clone(), 9);
    let rounds = Rounds {
        blocks: 4,
        window: Nanos::from_millis(20_000),
    };
    let on = RecordedOn {
        kernel: "6.12.1".into(),
        microcode: "0x2b".into(),
        date: "2026-02-03".into(),
    };
    let mut record = WattsRecord::new(plan(&truth), rounds, on);
    record.markers.push((&machine.marker()).into());
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("windows.json");
    let log = || machine.log(Nanos::from_millis(23_400));
    for group in record.left() {
        record
            .record(
                group,
                &mut machine.cores(),
                &mut machine.clock(),
                &mut || {},
            )
            .unwrap();
        // Saves and loads the record as after a kill; the loop continues with the next group.
        record.save(&path).unwrap();
        record = WattsRecord::load(&path).unwrap();
        let unfinished = record.watts(&log()).err();
        let unfinished = unfinished.filter(|_| !record.left().is_empty());
        assert!(record.left().is_empty() || unfinished.is_some_and(|error| error.is_refusal()));
    }
    record.markers.push((&machine.marker()).into());
    let (watts, spoiled) = record.watts(&log()).unwrap();
    assert!(spoiled.is_empty());
    assert_eq!(watts.boundary, MeteredAt::Wall);
    assert_eq!(watts.meter, "logger 123");
    let found = Found {
        awake: watts.awake,
        uncore: watts.uncore,
        states: watts.states,
        wakes: watts.wakes,
        clocks: watts.clocks,
    };
    for (name, interval, true_value) in beside(&found, &truth) {
        let off = (interval.value - true_value).abs() / interval.half();
        assert!(off < 1.5, "{name}: {true_value}, found {interval:?}");
    }
    // The file of another plan is refused.
    let other = Plan {
        wakes: false,
        ..plan(&truth)
    };
    let on = RecordedOn {
        kernel: "6.12.1".into(),
        microcode: "0x2b".into(),
        date: "2026-02-04".into(),
    };
    assert!(!record.is_of(&WattsRecord::new(other, rounds, on)));
    std::fs::write(&path, "{\"version\":1}").unwrap();
    let refused = WattsRecord::load(&path).unwrap_err();
    assert!(
        refused.is_refusal() && refused.to_string().contains("--record"),
        "{refused}"
    );
}

#[test]
fn drift_goes_out_of_the_differences() {
    let still = Truth {
        noise: 0.0,
        swing: 0.0,
        ..Truth::default()
    };
    let drifting = Truth {
        drift: 0.05,
        ..still.clone()
    };
    for truth in [still, drifting] {
        let found = measure(&truth, 1, 2).unwrap();
        // The idle machine's own watts are the exception: they drift.
        for (name, interval, true_value) in beside(&found, &truth) {
            let allowed = if name.starts_with("wake") {
                1e-6
            } else {
                0.005
            };
            let off = (interval.value - true_value).abs();
            assert!(
                off < allowed || name == "idle",
                "{name}: {true_value}, found {interval:?}"
            );
        }
    }
}

#[test]
fn what_cannot_be_told_from_idle_is_no_figure() {
    // A machine whose C1 draws as much as its deepest state.
    let truth = Truth {
        c1: 0.0,
        ..Truth::default()
    };
    let found = measure(&truth, 3, 6).unwrap();
    let c1 = found
        .states
        .iter()
        .find(|state| state.name == "C1")
        .unwrap();
    assert!(c1.above_idle.is_none() && c1.below_spin.is_none(), "{c1:?}");
    let why = c1.why.as_deref().unwrap();
    assert!(why.starts_with("not distinguishable from idle"), "{why}");
    // Neither has its wake a figure: the watts of sleeping in C1 are not known.
    let wake = &found.wakes[0];
    assert!(wake.joules.is_none() && wake.why.is_some(), "{wake:?}");
    // A machine whose meter does not show its cores' power.
    let blind = Truth {
        spin: 0.0,
        growing: 0.0,
        ..Truth::default()
    };
    let error = measure(&blind, 3, 4).unwrap_err();
    assert!(
        matches!(error, WattsError::Indistinguishable { .. }),
        "{error}"
    );
    assert!(!error.is_refusal());
}

#[test]
fn one_block_says_nothing() {
    let error = measure(&Truth::default(), 1, 1).unwrap_err();
    assert!(
        matches!(error, WattsError::Indistinguishable { .. }),
        "{error}"
    );
}

fn measured(found: Found) -> MeasuredWatts {
    MeasuredWatts {
        meter: "powercap:package-0".into(),
        boundary: MeteredAt::Package,
        cores_used: 8,
        cores: 8,
        rounds: 8,
        window_seconds: 2.0,
        kernel: "6.12.1".into(),
        microcode: "0x2b000590".into(),
        date: "2026-02-03".into(),
        awake: found.awake,
        uncore: found.uncore,
        states: found.states,
        wakes: found.wakes,
        clocks: found.clocks,
        idle_state: Some("C6".into()),
    }
}

#[test]
fn the_profile_has_what_was_measured_and_says_what_was_not() {
    let truth = Truth::default();
    for name in MachineProfile::names() {
        let base = MachineProfile::builtin(name).unwrap();
        let watts = measured(measure(&truth, 5, 6).unwrap());
        let profile = with_watts(&base, name, &watts);
        profile.validate().unwrap();
        assert_eq!(profile.boundary, MeteredAt::Package);
        let spin = &profile.core_watts.spin;
        assert_eq!(spin.kind, FigureKind::Measured);
        let expected = truth.above_idle("spin") + base.core_watts.c6.value;
        let [low, high] = spin.band.unwrap();
        assert!(low <= expected && expected <= high, "{spin:?}");
        for part in [
            "2026-02-03",
            "Linux 6.12.1",
            "microcode 0x2b000590",
            "powercap:package-0",
        ] {
            assert!(spin.source.contains(part), "{part} in {}", spin.source);
        }
        assert!(
            profile
                .core_watts
                .kernel
                .source
                .starts_with(&format!("as {name} (not measured)"))
        );
        assert_eq!(profile.wake.timer_joules.kind, FigureKind::Measured);
        assert_eq!(profile.wake.interrupt_joules.kind, FigureKind::Derived);
        assert!(profile.core_watts.pause_c02.is_some() && profile.core_watts.monitor.is_none());
        let toml = crate::profile_text(&profile, "x").unwrap();
        assert_eq!(MachineProfile::parse(&toml, "x.toml").unwrap(), profile);
    }
}

/// The measured watts of a wait that draws as much as spinning may lie above spinning's, and another machine's C1 far
/// above. Profiles allow neither.
#[test]
fn figures_are_held_between_c6_and_spinning() {
    let truth = Truth {
        spin: 0.6,
        pause: 0.6,
        ..Truth::default()
    };
    let mut found = measure(&truth, 7, 4).unwrap();
    found.states.retain(|state| state.name != "C1");
    let base = MachineProfile::builtin("generic-server").unwrap();
    let profile = with_watts(&base, "generic-server", &measured(found));
    profile.validate().unwrap();
    let (c1, spin) = (&profile.core_watts.c1, profile.core_watts.spin.value);
    assert_eq!(c1.value, spin);
    assert!(
        c1.source.contains("is held between c6 and spin"),
        "{}",
        c1.source
    );
}
