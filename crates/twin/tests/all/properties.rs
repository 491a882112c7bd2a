//! Properties of every job: nothing is lost, time goes on, energy adds up.

use crate::common::policies::{ALL, policy};
use crate::common::{device, method};
use joulio_job::{Arrivals, EngineName, Job, Load, Phase, ReadWrite};
use joulio_model::{CoreState, DeviceProfile, MachineProfile};
use joulio_twin::replay::{History, PolicyEvent, replay};
use joulio_twin::{Coalescing, CoreTimes, TwinRun, TwinSetup, run_policy};
use joulio_units::Nanos;
use proptest::prelude::*;

/// Returns a machine with every kind of wait, every idle state, and a link.
fn machine() -> MachineProfile {
    let xeon = MachineProfile::builtin("xeon-6230").unwrap();
    let mut machine = MachineProfile::builtin("generic-server").unwrap();
    machine.link = xeon.link;
    machine.costs.as_mut().unwrap().idle = xeon.costs.unwrap().idle;
    machine.validate().unwrap();
    machine
}

fn any_arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        Just(Arrivals::Closed),
        (2_000_u64..200_000).prop_map(|interval| Arrivals::Every(Nanos(interval))),
        (2_000_u64..200_000).prop_map(|mean| Arrivals::Poisson(Nanos(mean))),
        (1_u32..40, 2_000_u64..900_000).prop_map(|(ios, every)| Arrivals::Bursts {
            ios,
            every: Nanos(every),
        }),
    ]
}

fn any_size() -> impl Strategy<Value = u32> {
    prop_oneof![Just(512_u32), Just(4096), Just(65_536)]
}

/// Returns phases of a job; none in half of the cases.
fn any_phases() -> impl Strategy<Value = Vec<Phase>> {
    let phase = (1_000_u64..1_000_000, 0_u8..=100, any_size(), any_arrivals());
    let phase = phase.prop_map(|(length, read_percent, bs, arrivals)| Phase {
        length: Nanos(length),
        load: Load {
            read_percent,
            bs,
            arrivals,
        },
    });
    prop_oneof![Just(Vec::new()), proptest::collection::vec(phase, 1..4)]
}

/// A job, its engine, interrupt coalescing, and a number of devices that the engine's jobs can use.
type Case = (Job, EngineName, Option<Coalescing>, usize);

fn devices(count: usize) -> Vec<DeviceProfile> {
    let names = ["optane-900p", "flash-gc"].into_iter().cycle();
    names.take(count).map(device).collect()
}

fn any_job() -> impl Strategy<Value = Case> {
    let arrivals = any_arrivals();
    let coalescing =
        proptest::option::of(
            (1_u32..8, 1_u64..100).prop_map(|(threshold, us)| Coalescing {
                threshold,
                time: Nanos::from_micros(us),
            }),
        );
    let sizes = any_size();
    let path = prop_oneof![Just(EngineName::Psync), Just(EngineName::Nvme)];
    let ramp = prop_oneof![Just(0_u64), 1_u64..2_000];
    (
        (0_u8..=100, sizes, 1_usize..33, 1_usize..20, 1_u64..150),
        (arrivals, any_phases(), coalescing, path, ramp, 1_usize..9),
    )
        .prop_map(
            |(
                (read_percent, bs, iodepth, numjobs, ios),
                (arrivals, phases, coalescing, path, ramp, devices),
            )| {
                let job = Job {
                    rw: ReadWrite::RandRw,
                    rwmixread: read_percent,
                    bs: u64::from(bs).into(),
                    iodepth,
                    numjobs,
                    ramp_time: Nanos::from_micros(ramp),
                    arrivals,
                    phases,
                    ..Job::random_reads(ios)
                };
                let devices = match path {
                    EngineName::Nvme => devices,
                    _ => devices.min(numjobs),
                };
                (job, path, coalescing, devices)
            },
        )
}

fn simulate(case: &Case, which: usize, seed: u64) -> TwinRun {
    let (job, engine, coalescing, count) = case;
    let (machine, devices) = (machine(), devices(*count));
    let setup = TwinSetup {
        coalescing: *coalescing,
        ..TwinSetup::new(&machine, &devices)
    };
    let job = Job {
        seed,
        ..job.clone()
    };
    run_policy(&job, method(*engine), &setup, |_| policy(which)).unwrap()
}

/// Returns the joules of the cores including C6, computed by hand.
fn joules_of(machine: &MachineProfile, times: &CoreTimes) -> f64 {
    let states = [
        (CoreState::Spin, times.spin + times.polled_idle),
        (CoreState::Kernel, times.kernel),
        (CoreState::PauseC02, times.paused),
        (CoreState::Monitor, times.monitored),
        (CoreState::C1, times.c1),
        (CoreState::C1e, times.c1e),
    ];
    let floor = machine.core_watts(CoreState::C6).0;
    let above = |(state, time): (CoreState, Nanos)| {
        (machine.core_watts(state).0 - floor).max(0.0) * time.seconds()
    };
    states.into_iter().map(above).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_io_ends_once_and_the_device_did_each(case in any_job(), which in 0_usize..ALL, seed: u64) {
        let done = simulate(&case, which, seed);
        let job = &case.0;
        let wanted = job.number_ios.unwrap() * job.numjobs.max(case.3) as u64;
        prop_assert_eq!(done.ios(), wanted);
        prop_assert_eq!(done.all().latency.len(), wanted);
        if job.phases.is_empty() {
            prop_assert_eq!(done.all().bytes, wanted * job.bs.of_job(0));
        }
        prop_assert_eq!(done.result.counts.as_ref().unwrap().arrivals_not_issued, 0);
        if job.ramp_time == Nanos::ZERO {
            let taken: u64 = done.devices.iter().map(|d| d.read.ios + d.write.ios).sum();
            prop_assert_eq!(taken, wanted);
        }
    }

    #[test]
    fn energy_is_the_sum_over_states(case in any_job(), which in 0_usize..ALL, seed: u64) {
        let done = simulate(&case, which, seed);
        let machine = machine();
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 + 1e-9 * a.abs();
        prop_assert!(near(done.parts.total().0, done.energy.joules.0));
        prop_assert!(done.energy.modelled && done.energy.band.unwrap().holds(done.energy.joules));
        let cores: f64 = done.cores.iter().map(|core| joules_of(&machine, core)).sum();
        prop_assert!(near(done.parts.cores.0, cores), "{} {cores}", done.parts.cores.0);
        prop_assert!(near(done.parts.base.0, machine.base_watts.value * done.window.seconds()));
    }

    #[test]
    fn no_cpu_spends_more_time_than_there_is(case in any_job(), which in 0_usize..ALL, seed: u64) {
        let done = simulate(&case, which, seed);
        for (cpu, times) in &done.cpus {
            prop_assert!(times.total() <= done.window, "{cpu}: {times:?} in {:?}", done.window);
        }
        if case.0.numjobs == 1 {
            // All of the time is accounted for.
            prop_assert_eq!(done.cpus[0].1.total(), done.window);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_result(case in any_job(), which in 0_usize..ALL, seed: u64) {
        let (once, again) = (simulate(&case, which, seed), simulate(&case, which, seed));
        prop_assert_eq!(format!("{once:?}"), format!("{again:?}"));
        prop_assert_eq!(once, again);
    }

    #[test]
    fn time_never_runs_back_and_decisions_hang_on_the_history_alone(
        case in any_job(), which in 0_usize..ALL, seed: u64,
    ) {
        let (job, engine, coalescing, count) = case;
        let (machine, devices) = (machine(), devices(count));
        let job = Job { seed, ..job };
        let setup = TwinSetup { coalescing, ..TwinSetup::new(&machine, &devices) };
        let histories: Vec<_> = (0..job.numjobs.max(count)).map(|_| History::default()).collect();
        let recorded = |index: usize| histories[index].record(policy(which));
        run_policy(&job, method(engine), &setup, recorded).unwrap();
        for history in &histories {
            let events = history.events();
            prop_assert!(events.iter().is_sorted_by_key(PolicyEvent::at));
            prop_assert!(replay(&events, &mut policy(which)).is_ok());
        }
    }

    /// Little's law, L = lambda W: the number in flight is the number requested.
    #[test]
    fn little_s_law_holds(depth in 1_usize..65, which in 0_usize..ALL, seed: u64) {
        let mut machine = machine();
        // The time between an I/O and the next belongs to neither.
        machine.costs.as_mut().unwrap().app_ns.value = 0.0;
        machine.costs.as_mut().unwrap().app_ns.band = None;
        let job = Job { iodepth: depth, seed, ..Job::random_reads(5_000) };
        let devices = [device("optane-900p")];
        let setup = TwinSetup::new(&machine, &devices);
        let method = method(EngineName::Psync);
        let done = run_policy(&job, method, &setup, |_| policy(which)).unwrap();
        let in_flight = done.iops() * done.all().mean().unwrap() / 1e9;
        let want = depth as f64;
        prop_assert!((in_flight - want).abs() < 0.02 * want, "{in_flight} of {want}");
    }
}
