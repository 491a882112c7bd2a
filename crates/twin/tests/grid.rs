//! The grid: every policy meets the same device, and nobody beats the oracle.

mod common;

use common::device;
use joulio_model::MachineProfile;
use joulio_twin::grid::{
    Axes, Contender, GridError, LoadKind, Mechanism, Meter, Row, Scene, Stage,
};
use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Dpas, Ehp, Pas, SkiRental, Tpause, Umwait};

fn stage(ios: u64, slo: Option<Nanos>) -> Stage {
    Stage {
        machine: MachineProfile::builtin("generic-server").unwrap(),
        contenders: vec![
            Contender::new(|| AnyPolicy::INTERRUPT),
            Contender::new(|| AnyPolicy::Ehp(Ehp::new())),
            Contender::new(|| AnyPolicy::Pas(Pas::new())),
            Contender::new(|| AnyPolicy::Dpas(Dpas::new(Dpas::THETA))),
            Contender::new(|| AnyPolicy::SkiRental(SkiRental::new(Nanos(3_000)))),
            Contender::new(|| AnyPolicy::Tpause(Tpause::new(Tpause::PAUSE))),
            Contender::new(|| AnyPolicy::Umwait(Umwait)),
        ],
        ios,
        ramp_time: Nanos::from_millis(1),
        slo,
        seed: 1,
    }
}

fn scene(device: &str, iodepth: usize, load: LoadKind) -> Scene {
    Scene {
        device: device.into(),
        iodepth,
        numjobs: 1,
        bs: 4096,
        read_percent: 100,
        load,
    }
}

fn play(stage: &Stage, scene: &Scene) -> Vec<Row> {
    let views = Axes::full().views;
    stage.play(scene, &device(&scene.device), &views).unwrap()
}

#[test]
fn nobody_who_keeps_the_promise_beats_the_best_or_the_oracle() {
    let stage = stage(1_500, None);
    for load in LoadKind::ALL {
        for (device, iodepth) in [
            ("samsung-983-zet", 1),
            ("optane-p5800x", 4),
            ("hdd-7200", 2),
        ] {
            let rows = play(&stage, &scene(device, iodepth, load));
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
                let poll = &row.policies[0];
                assert!(poll.policy == "poll" && poll.keeps);
            }
        }
    }
}

#[test]
fn a_view_has_the_policies_of_its_mechanism_and_the_energy_of_its_boundary() {
    let rows = play(
        &stage(1_000, None),
        &scene("optane-p5800x", 1, LoadKind::Closed),
    );
    let of = |mechanism, boundary| {
        let same = |row: &&Row| (row.view.mechanism, row.view.boundary) == (mechanism, boundary);
        rows.iter().find(same).unwrap()
    };
    let has = |row: &Row, name: &str| row.policies.iter().any(|one| one.policy == name);
    assert!(!has(of(Mechanism::Eventfd, Meter::Wall), "umwait"));
    assert!(has(of(Mechanism::Tpause, Meter::Wall), "umwait"));
    let [wall, package, cores] = Meter::ALL.map(|meter| of(Mechanism::Eventfd, meter));
    for (wide, narrow) in [(wall, package), (package, cores)] {
        for (wide, narrow) in wide.policies.iter().zip(&narrow.policies) {
            assert!(wide.joules_per_io > narrow.joules_per_io);
            // One run, read by two meters.
            assert_eq!((wide.p99_ns, wide.iops), (narrow.p99_ns, narrow.iops));
        }
    }
}

#[test]
fn the_same_stage_gives_the_same_rows() {
    let scene = scene("flash-gc", 4, LoadKind::Phases);
    assert_eq!(
        play(&stage(1_000, None), &scene),
        play(&stage(1_000, None), &scene)
    );
}

#[test]
fn a_promise_under_the_device_s_own_latency_is_refused_by_name() {
    let slo = Some(Nanos::from_micros(50));
    let disk = scene("hdd-7200", 1, LoadKind::Closed);
    let error = stage(1_000, slo)
        .check(&disk, &device("hdd-7200"))
        .unwrap_err();
    assert!(matches!(&error, GridError::Slo { device, .. } if device == "hdd-7200"));
    let error = error.to_string();
    assert!(
        error.starts_with("slo: 50 us") && !error.contains('\n'),
        "{error}"
    );
    // One that it can keep is kept by more than polling's.
    let rows = play(
        &stage(1_000, Some(Nanos::from_millis(1))),
        &scene("samsung-983-zet", 1, LoadKind::Closed),
    );
    assert!(rows.iter().all(|row| row.limit_ns == 1_000_000));
    assert!(rows[0].policies.iter().all(|one| one.keeps));
}

#[test]
fn a_package_s_watts_are_never_told_as_the_wall_s() {
    let stage = Stage {
        machine: MachineProfile::builtin("xeon-8558").unwrap(),
        ..stage(1_000, None)
    };
    let axes = Axes::full().on(&stage.machine);
    assert_eq!(axes.views.len(), 6);
    let scene = scene("optane-p5800x", 1, LoadKind::Closed);
    let device = device("optane-p5800x");
    let rows = stage.play(&scene, &device, &axes.views).unwrap();
    assert_eq!(rows.len(), 6);
    let refused = stage
        .play(&scene, &device, &Axes::full().views)
        .unwrap_err();
    assert!(matches!(refused, GridError::Wall { machine } if machine == "xeon-8558"));
}
