//! Jobs with different sizes of I/Os.

use crate::common::{device, method};
use joulio_job::{EngineName, Job, JobCounts};
use joulio_model::{MachineProfile, ServiceModel};
use joulio_twin::{TwinError, TwinRun, TwinSetup, run};
use joulio_units::Direction;

const IOS: u64 = 2_000;

/// Runs reads of two jobs, each on its own CPU and device.
fn reads(bs: &str) -> Result<TwinRun, TwinError> {
    let machine = MachineProfile::builtin("generic-server").unwrap();
    let devices = [device("optane-900p"), device("optane-900p")];
    let job = Job {
        bs: bs.parse().unwrap(),
        numjobs: 2,
        ..Job::random_reads(IOS)
    };
    let setup = TwinSetup {
        per_job: true,
        ..TwinSetup::new(&machine, &devices)
    };
    run(&job, method(EngineName::Nvme), &setup)
}

#[test]
fn each_job_does_its_own_size() {
    let [small, large, both] = ["4k", "64k", "4k:64k"].map(|bs| reads(bs).unwrap());
    assert_eq!(both.ios(), 2 * IOS);
    assert_eq!(both.all().bytes, IOS * (4 + 64) * 1024);
    // The latencies of a job are those that it has if all jobs have its size.
    let quantile = |done: &TwinRun, quantile| done.all().latency.value_at_quantile(quantile);
    assert!(quantile(&small, 1.0) < quantile(&large, 0.0));
    let near = |a: u64, b: u64| (a as f64 / b as f64 - 1.0).abs() < 0.01;
    assert!(near(quantile(&both, 0.25), quantile(&small, 0.5)));
    assert!(near(quantile(&both, 0.75), quantile(&large, 0.5)));
    let between = quantile(&large, 0.0) * 9 / 10;
    assert_eq!(both.all().latency.count_between(0, between), IOS);
}

#[test]
fn the_rate_of_a_job_is_over_its_own_time() {
    let done = reads("4k:128k").unwrap();
    let per_job = done.result.counts.unwrap().per_job;
    assert!(per_job.iter().all(|job| job.ios == IOS));
    let [small, large] = [&per_job[0], &per_job[1]];
    assert!(small.iops > 2.0 * large.iops, "{small:?} {large:?}");
    assert!(JobCounts::jain(&per_job).unwrap() < 0.9);
}

#[test]
fn every_size_has_to_fit_the_device() {
    for bs in ["4k:1000", "1000:4k", "4k:2G"] {
        let refused = reads(bs).unwrap_err();
        assert!(
            matches!(refused, TwinError::Job { field: "bs", .. }),
            "{bs}: {refused}"
        );
    }
}

#[test]
fn a_device_works_on_the_last_part_of_an_io_for_as_long_as_that_takes() {
    let profile = device("optane-900p");
    let service = ServiceModel::new(&profile, 0);
    let mean = |bytes| service.mean(Direction::Read, bytes).0;
    let part = profile.max_transfer();
    for rest in [4096, part] {
        let done = reads(&(part + rest).to_string()).unwrap();
        for device in &done.devices {
            assert_eq!(device.read.ios, 2 * IOS);
            assert_eq!(device.read.service.0, IOS * (mean(part) + mean(rest)));
        }
    }
}
