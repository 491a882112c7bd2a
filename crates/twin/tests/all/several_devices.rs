//! One job on several devices: what each does, and what the core that waits for all of them counts.

use crate::common::device;
use crate::common::policies::{ALL, policy};
use joulio_job::{CompletionMode, EngineName, Job, Method};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::{Oracle, TwinError, TwinRun, TwinSetup, run, run_oracle, run_policy};
use joulio_units::{Nanos, Percentile, Slo, SloLimit, Watts};
use joulio_wait::{AnyPolicy, StepSet};

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

/// Seven drives on a machine with all kinds of waits.
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

#[test]
fn a_poll_that_finds_is_one_queue_s_and_the_others_poll_in_vain() {
    let done = simulate(&reads(1, 1), |_| AnyPolicy::POLL);
    let c = done.counters;
    // At depth 1 a poll finds one I/O or none.
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
