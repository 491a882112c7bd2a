//! One job on several devices: the I/Os of each, and the counters of the core that waits for all of them.

use crate::common::device;
use crate::common::policies::{ALL, policy};
use joulio_job::{CompletionMode, EngineName, Job, Method};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::{Oracle, TwinError, TwinRun, TwinSetup, run, run_oracle, run_policy};
use joulio_units::{Nanos, Percentile, Slo, SloLimit, Watts};
use joulio_wait::{AnyPolicy, Policy, StepKind, StepSet, Uintr};

const DEVICES: usize = 7;
const IOS: u64 = 500;

const DRIVER: Method = Method {
    engine: EngineName::Nvme,
    mode: CompletionMode::Poll,
};

fn reads(numjobs: usize, iodepth: usize) -> Job {
    Job {
        numjobs,
        iodepth,
        ramp_time: Nanos::ZERO,
        ..Job::random_reads(IOS)
    }
}

/// Simulates seven drives on a machine with all kinds of waits.
fn simulate(job: &Job, policy: impl FnMut(usize) -> AnyPolicy) -> TwinRun {
    let machine = MachineProfile::builtin("generic-server").unwrap();
    let devices: Vec<DeviceProfile> = vec![device("samsung-980-pro"); DEVICES];
    run_policy(job, DRIVER, &TwinSetup::new(&machine, &devices), policy).unwrap()
}

#[test]
fn every_policy_does_on_each_device_what_a_job_of_its_own_does() {
    for which in 0..ALL {
        for depth in [1, 4] {
            let done = simulate(&reads(1, depth), |_| policy(which));
            let what = format!("{} at {depth}", done.effective());
            let own = simulate(&reads(DEVICES, depth), |_| policy(which));
            assert_eq!(done.devices, own.devices, "{what}: the same I/Os");
            let each = &done.result.counts.as_ref().unwrap().per_device;
            assert!(each.iter().all(|device| device.all.ios == IOS), "{what}");
            let c = done.counters;
            let found = c.polls - c.empty_polls;
            assert!(found > 0 && found <= DEVICES as u64 * IOS, "{what}: {c:?}");
            assert_eq!(done.cpus.len(), 1, "{what}");
        }
    }
}

/// Replicates have successive seeds.
#[test]
fn no_device_has_the_service_times_of_another_in_the_next_replicate() {
    let latencies = |seed| {
        let job = Job {
            seed,
            ..reads(DEVICES, 1)
        };
        let counts = simulate(&job, |_| AnyPolicy::POLL).result.counts.unwrap();
        let each = counts.per_device.into_iter();
        each.map(|device| device.all.latency_ns).collect::<Vec<_>>()
    };
    let (first, next) = (latencies(7), latencies(8));
    assert_eq!(first.len(), DEVICES);
    for (i, one) in first.iter().enumerate() {
        assert!(!next.contains(one), "device {i}");
        assert!(!first[..i].contains(one), "device {i}");
    }
}

#[test]
fn a_poll_that_finds_is_one_queue_s_and_the_others_poll_in_vain() {
    let done = simulate(&reads(1, 1), |_| AnyPolicy::POLL);
    let c = done.counters;
    // At depth 1 a poll finds one completion or none.
    assert_eq!(c.polls - c.empty_polls, DEVICES as u64 * IOS);
    assert_eq!(c.polls % DEVICES as u64, 0);
    assert_eq!((c.blocks, c.interrupts), (0, 0));
}

#[test]
fn an_interrupt_of_any_device_ends_the_block_and_each_completion_raises_one() {
    let done = simulate(&reads(1, 1), |_| AnyPolicy::INTERRUPT);
    let c = done.counters;
    assert_eq!(c.interrupts, DEVICES as u64 * IOS);
    assert!(c.blocks == c.wakes && c.blocks <= c.interrupts, "{c:?}");
    let alone = simulate(&reads(DEVICES, 1), |_| AnyPolicy::INTERRUPT);
    assert!(c.blocks < alone.counters.blocks, "some come while it works");
}

#[test]
fn the_kernel_raises_the_user_interrupt_of_each_other_device_unless_they_are_posted() {
    let machine = MachineProfile::builtin("generic-server").unwrap();
    let devices: Vec<DeviceProfile> = vec![device("samsung-980-pro"); DEVICES];
    let run = |posted_interrupts| {
        let setup = TwinSetup {
            posted_interrupts,
            ..TwinSetup::new(&machine, &devices)
        };
        run_policy(&reads(1, 1), DRIVER, &setup, |_| AnyPolicy::Uintr(Uintr)).unwrap()
    };
    let (raised, posted) = (run(false), run(true));
    // No interrupt of the first device goes to the kernel.
    assert_eq!(raised.counters.interrupts, (DEVICES as u64 - 1) * IOS);
    assert_eq!(posted.counters.interrupts, 0);
    let costs = machine.costs.as_ref().unwrap();
    let kernel = |run: &TwinRun| run.cpus[0].1.kernel.0 as f64;
    // In the kernel there are only the handlers for the others, or one system call for each wait.
    let handlers = kernel(&raised) / costs.interrupt_ns.value;
    assert_eq!(handlers, raised.counters.interrupts as f64);
    let calls = kernel(&posted) / costs.crossing_ns.value;
    let waits = posted.counters.user_interrupts as f64;
    assert!(
        waits <= calls && calls <= posted.ios() as f64,
        "{calls} {waits}"
    );
    assert_eq!(raised.ios(), posted.ios());
}

#[test]
fn posted_interrupts_are_for_several_devices_and_for_modes_that_take_user_interrupts() {
    let machine = MachineProfile::builtin("generic-server").unwrap();
    let devices: Vec<DeviceProfile> = vec![device("samsung-980-pro"); DEVICES];
    let run = |devices, which, posted_interrupts| {
        let setup = TwinSetup {
            posted_interrupts,
            ..TwinSetup::new(&machine, devices)
        };
        let done = run_policy(&reads(1, 4), DRIVER, &setup, |_| policy(which)).unwrap();
        (done.devices, done.counters, done.cpus)
    };
    for which in 0..ALL {
        let takes = policy(which).steps().has(StepKind::UserInterrupt);
        let several = [false, true].map(|posted| run(&devices, which, posted));
        assert_eq!(several[0] != several[1], takes, "{which}");
        let [one, posted] = [false, true].map(|posted| run(&devices[..1], which, posted));
        assert_eq!(one, posted, "{which}");
    }
}

#[test]
fn a_core_that_works_for_seven_devices_waits_less() {
    let useful = |jobs| {
        let done = simulate(&reads(jobs, 8), |_| AnyPolicy::POLL);
        done.result.useful_cpu_percent.unwrap()
    };
    let (one, seven) = (useful(1), useful(DEVICES));
    assert!(one > 5.0 * seven && one < 100.0, "{one} and {seven} %");
}

#[test]
fn only_the_driver_s_queues_wait_together() {
    let machine = MachineProfile::builtin("generic-server").unwrap();
    let devices = vec![device("optane-p5800x"); 2];
    let setup = TwinSetup::new(&machine, &devices);
    for (engine, mode) in [
        (EngineName::Psync, CompletionMode::Poll),
        (EngineName::Libaio, CompletionMode::Interrupt),
        (EngineName::IoUring, CompletionMode::SqPollPoll),
    ] {
        let method = Method { engine, mode };
        let refused = run(&reads(1, 1), method, &setup).unwrap_err();
        let line = refused.to_string();
        assert!(line.contains("--numjobs 2"), "{line}");
        run(&reads(2, 1), method, &setup).unwrap();
    }
    let oracle = Oracle {
        slo: Slo::new(&[SloLimit {
            percentile: Percentile::P99,
            latency: Nanos::from_micros(30),
        }])
        .unwrap(),
        share: Watts(0.0),
        can: StepSet::NONE,
        batch: false,
        nap: false,
        arrivals: false,
        spend: false,
    };
    let refused = run_oracle(&reads(1, 1), DRIVER, &setup, oracle).unwrap_err();
    assert!(matches!(
        refused,
        TwinError::Job {
            field: "numjobs",
            ..
        }
    ));
}
