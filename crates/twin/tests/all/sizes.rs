//! Jobs with sizes of their own.

use crate::common::{device, method};
use joulio_job::{EngineName, Job};
use joulio_model::MachineProfile;
use joulio_twin::{TwinError, TwinRun, TwinSetup, run};

const IOS: u64 = 2_000;

/// Reads of two jobs, each on a CPU and a device of its own.
fn reads(bs: &str) -> Result<TwinRun, TwinError> {
    let machine = MachineProfile::builtin("generic-server").unwrap();
    let devices = [device("optane-900p"), device("optane-900p")];
    let job = Job {
        bs: bs.parse().unwrap(),
        numjobs: 2,
        ..Job::random_reads(IOS)
    };
    run(
        &job,
        method(EngineName::Nvme),
        &TwinSetup::new(&machine, &devices),
    )
}

#[test]
fn each_job_does_its_own_size() {
    let [small, large, both] = ["4k", "64k", "4k:64k"].map(|bs| reads(bs).unwrap());
    assert_eq!(both.ios(), 2 * IOS);
    assert_eq!(both.all().bytes, IOS * (4 + 64) * 1024);
    // A job's I/Os take what they take where all have its size.
    let quantile = |done: &TwinRun, quantile| done.all().latency.value_at_quantile(quantile);
    assert!(quantile(&small, 1.0) < quantile(&large, 0.0));
    let near = |a: u64, b: u64| (a as f64 / b as f64 - 1.0).abs() < 0.01;
    assert!(near(quantile(&both, 0.25), quantile(&small, 0.5)));
    assert!(near(quantile(&both, 0.75), quantile(&large, 0.5)));
    let between = quantile(&large, 0.0) * 9 / 10;
    assert_eq!(both.all().latency.count_between(0, between), IOS);
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
