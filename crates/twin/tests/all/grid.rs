//! The grid: all policies meet the same device, and none beats the oracle.

use crate::common::device;
use joulio_model::MachineProfile;
use joulio_twin::TwinError;
use joulio_twin::grid::{
    GridAxes, GridCandidate, GridCell, GridError, GridSweep, LoadKind, Mechanism, Scenario,
};
use joulio_units::{Nanos, Percentile, Slo};
use joulio_wait::{AnyPolicy, Dpas, Ehp, Objective, Pas, SkiRental, Tpause, Umwait};
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn sweep(ios: u64, slo: Option<Slo>) -> GridSweep {
    GridSweep {
        machine: MachineProfile::builtin("generic-server").unwrap(),
        candidates: vec![
            GridCandidate::new(|| AnyPolicy::INTERRUPT),
            GridCandidate::new(|| AnyPolicy::Ehp(Ehp::new())),
            GridCandidate::new(|| AnyPolicy::Pas(Pas::new())),
            GridCandidate::new(|| AnyPolicy::Dpas(Dpas::new(Dpas::THETA))),
            GridCandidate::new(|| AnyPolicy::SkiRental(SkiRental::new(Nanos(3_000)))),
            GridCandidate::new(|| AnyPolicy::Tpause(Tpause::new(Tpause::PAUSE))),
            GridCandidate::new(|| AnyPolicy::Umwait(Umwait)),
        ],
        ios,
        ramp_time: Nanos::from_millis(1),
        slo,
        seed: 1,
        replicates: 1,
        stop: Arc::default(),
    }
}

fn scenario(device: &str, iodepth: usize, load: LoadKind) -> Scenario {
    Scenario {
        device: device.into(),
        iodepth,
        numjobs: 1,
        bs: 4096,
        read_percent: 100,
        load,
    }
}

fn simulate(sweep: &GridSweep, scenario: &Scenario) -> Vec<GridCell> {
    let views = GridAxes::full().views;
    sweep
        .simulate(scenario, &device(&scenario.device), &views)
        .unwrap()
}

#[test]
fn nobody_who_keeps_the_promise_beats_the_best_or_the_oracle() {
    let sweep = sweep(1_500, None);
    for load in LoadKind::ALL {
        for (device, iodepth) in [
            ("samsung-983-zet", 1),
            ("optane-p5800x", 4),
            ("hdd-7200", 2),
        ] {
            let rows = simulate(&sweep, &scenario(device, iodepth, load));
            assert_eq!(rows.len(), 9);
            for row in &rows {
                let best = row.best.as_deref().unwrap();
                let kept = || row.policies.iter().filter(|one| one.keeps);
                assert!(kept().any(|one| one.policy == best && one.regret.unwrap() <= 1e-3));
                for one in kept() {
                    assert!(one.regret.unwrap() >= 0.0, "{row:#?}");
                    assert!(
                        one.regret_oracle.unwrap() >= one.regret.unwrap(),
                        "{row:#?}"
                    );
                }
                let oracles = row.oracle_joules_per_io.unwrap();
                assert!(oracles.spending <= oracles.completions, "{row:#?}");
                assert!(oracles.everything <= oracles.spending, "{row:#?}");
                // The policy whose latencies are the promise keeps the promise.
                let of = row.slo_of.as_deref().unwrap();
                assert!(row.scenario.shares_cpus(&sweep.machine) || of == "poll");
                assert!(kept().any(|one| one.policy == of), "{row:#?}");
            }
        }
    }
}

#[test]
fn on_a_shared_cpu_the_promise_is_the_better_one_s() {
    // A thread that spins waits for a tick at times, on a slow device and on a quick one.
    let beside = |device| scenario(device, 1, LoadKind::BesideCompute);
    for (device, of) in [
        ("samsung-960-evo", "interrupt"),
        ("optane-p5800x", "interrupt"),
    ] {
        let rows = simulate(&sweep(20_000, None), &beside(device));
        let poll = &rows[0].policies[0];
        assert_eq!(rows[0].slo_of.as_deref(), Some(of), "{device}");
        assert!(!poll.keeps && poll.p999_ns > 3e6, "{poll:#?}");
    }
}

#[test]
fn a_winner_wins_with_every_seed() {
    let sweep = GridSweep {
        replicates: 3,
        ..sweep(1_000, None)
    };
    let alone = |seed| GridSweep {
        seed,
        replicates: 1,
        ..self::sweep(1_000, None)
    };
    let (mut won, mut tied) = (0, 0);
    for load in [LoadKind::Closed, LoadKind::Open { percent: 40 }] {
        for device in ["optane-p5800x", "flash-gc"] {
            let scenario = scenario(device, 4, load);
            let rows = simulate(&sweep, &scenario);
            let seeds = [1, 2, 3].map(|seed| simulate(&alone(seed), &scenario));
            for (index, row) in rows.iter().enumerate() {
                // Each seed has the result that it has alone.
                for (at, one) in row.policies.iter().enumerate() {
                    assert_eq!(one.by_seed.len(), 3);
                    let joules = seeds
                        .iter()
                        .map(|rows| rows[index].policies[at].joules_per_io);
                    let by_seed = one.by_seed.iter().map(|seed| seed.joules_per_io);
                    assert!(by_seed.eq(joules), "{one:#?}");
                    let keeps = seeds.iter().all(|rows| rows[index].policies[at].keeps);
                    assert_eq!(one.keeps, keeps);
                }
                let best = row.best.as_deref().unwrap();
                // A policy that is the best with a seed has no regret with it, within the tolerance.
                let bests = |name: &str| -> Vec<bool> {
                    let mut named = row.policies.iter();
                    let one = named.find(|one| one.policy == name).unwrap();
                    let seeds = one.by_seed.iter();
                    seeds.map(|seed| seed.regret.unwrap() <= 0.001).collect()
                };
                let kept = row.policies.iter().filter(|one| one.keeps);
                for other in kept.filter(|one| one.policy != best) {
                    let mut seeds = bests(&other.policy).into_iter().zip(bests(best));
                    let wins = seeds.any(|(other, best)| other && !best);
                    assert_eq!(row.ties.contains(&other.policy), wins, "{row:#?}");
                }
                won += usize::from(!row.is_tie());
                tied += usize::from(row.is_tie());
                assert!(row.p99_noise >= 0.0 && row.p999_noise > 0.0);
            }
        }
    }
    assert!(won > 0, "{won} won, {tied} tied");
}

#[test]
fn a_view_has_the_policies_of_its_mechanism_and_the_energy_of_its_boundary() {
    let rows = simulate(
        &sweep(1_000, None),
        &scenario("optane-p5800x", 1, LoadKind::Closed),
    );
    let of = |mechanism, boundary| {
        let same =
            |row: &&GridCell| (row.view.mechanism, row.view.boundary) == (mechanism, boundary);
        rows.iter().find(same).unwrap()
    };
    let has = |row: &GridCell, name: &str| row.policies.iter().any(|one| one.policy == name);
    assert!(!has(of(Mechanism::Eventfd, Objective::Wall), "umwait"));
    assert!(has(of(Mechanism::Tpause, Objective::Wall), "umwait"));
    let [wall, package, cores] = Objective::ALL.map(|meter| of(Mechanism::Eventfd, meter));
    for (wide, narrow) in [(wall, package), (package, cores)] {
        for (wide, narrow) in wide.policies.iter().zip(&narrow.policies) {
            assert!(wide.joules_per_io > narrow.joules_per_io);
            // One run, read by two meters.
            assert_eq!((wide.p99_ns, wide.iops), (narrow.p99_ns, narrow.iops));
        }
    }
}

#[test]
fn the_same_sweep_gives_the_same_rows() {
    let scenario = scenario("flash-gc", 4, LoadKind::Phases);
    assert_eq!(
        simulate(&sweep(1_000, None), &scenario),
        simulate(&sweep(1_000, None), &scenario)
    );
}

#[test]
fn a_promise_under_the_device_s_own_latency_is_refused_by_name() {
    let slo = Some(Slo::of(Percentile::P99, Nanos::from_micros(50)));
    let disk = scenario("hdd-7200", 1, LoadKind::Closed);
    let error = sweep(1_000, slo)
        .check(&disk, &device("hdd-7200"))
        .unwrap_err();
    assert!(matches!(&error, GridError::Slo { device, .. } if device == "hdd-7200"));
    let error = error.to_string();
    assert!(
        error.starts_with("slo: p99 of 50 us") && !error.contains('\n'),
        "{error}"
    );
    // One I/O out of so many may always be later.
    let rare: Percentile = "p99.99".parse().unwrap();
    let optane = scenario("optane-p5800x", 1, LoadKind::Closed);
    let rare = Some(Slo::of(rare, Nanos::from_millis(1)));
    let few = self::sweep(1_000, rare).check(&optane, &device("optane-p5800x"));
    let few = few.unwrap_err().to_string();
    assert!(
        few.contains("one in 10000") && few.contains("--number_ios"),
        "{few}"
    );
    // A promise that the device can keep is kept by more policies than one like polling.
    let slo = Slo::of(Percentile::P99, Nanos::from_millis(1));
    let rows = simulate(
        &sweep(1_000, Some(slo)),
        &scenario("samsung-983-zet", 1, LoadKind::Closed),
    );
    assert!(
        rows.iter()
            .all(|row| row.slo_ns == slo && row.slo_of.is_none())
    );
    assert!(rows[0].policies.iter().all(|one| one.keeps));
}

#[test]
fn a_package_s_watts_are_never_reported_as_the_wall_s() {
    let sweep = GridSweep {
        machine: MachineProfile::builtin("xeon-8558").unwrap(),
        ..sweep(1_000, None)
    };
    let axes = GridAxes::full().on(&sweep.machine);
    assert_eq!(axes.views.len(), 6);
    let scenario = scenario("optane-p5800x", 1, LoadKind::Closed);
    let device = device("optane-p5800x");
    let rows = sweep.simulate(&scenario, &device, &axes.views).unwrap();
    assert_eq!(rows.len(), 6);
    let refused = sweep
        .simulate(&scenario, &device, &GridAxes::full().views)
        .unwrap_err();
    assert!(matches!(refused, GridError::Wall { machine } if machine == "xeon-8558"));
}

#[test]
fn a_scenario_that_is_stopped_ends_in_the_middle_of_a_run() {
    let sweep = sweep(1_000_000_000_000, None);
    sweep.stop.store(true, Ordering::Relaxed);
    let scenario = scenario("optane-p5800x", 1, LoadKind::Closed);
    let stopped = sweep
        .simulate(&scenario, &device("optane-p5800x"), &GridAxes::full().views)
        .unwrap_err();
    assert_eq!(stopped, GridError::Twin(TwinError::Stopped));
}
