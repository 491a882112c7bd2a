//! Measurement of a device in virtual time: the measured profile has to match the device's hidden one.

use joulio_lab::device_measure::{
    DeviceMeasureError, PointRuns, RatePlan, RatePoint, RateRun, RateSource, measure_rates,
};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::device_fit::{MeasuredBy, MeasuredRate, fit_device};
use joulio_twin::{TwinSetup, run};
use joulio_units::Direction;
use joulio_workload::{CompletionMode, EngineName, Job, Method, ReadWrite};

const METHOD: Method = Method {
    engine: EngineName::Nvme,
    mode: CompletionMode::Poll,
};

/// The twin in place of a device; no two runs are the same.
struct Hidden {
    machine: MachineProfile,
    profile: DeviceProfile,
    seed: u64,
}

impl Hidden {
    fn iops(&mut self, point: RatePoint) -> f64 {
        self.seed += 1;
        let job = Job {
            rw: ReadWrite::random(point.direction),
            bs: u64::from(point.bytes).into(),
            iodepth: point.iodepth,
            numjobs: point.numjobs,
            seed: self.seed,
            ..Job::random_reads(20_000 / point.numjobs as u64)
        };
        let devices = [self.profile.clone()];
        let setup = TwinSetup::new(&self.machine, &devices);
        run(&job, METHOD, &setup).unwrap().iops()
    }
}

impl RateSource for Hidden {
    fn run(&mut self, point: RatePoint) -> Result<RateRun, DeviceMeasureError> {
        Ok(RateRun {
            iops: self.iops(point),
            spoiled: None,
        })
    }
}

/// Returns the profile from a measurement of the profile `name`, and the hidden device.
fn measured(name: &str, directions: Vec<Direction>) -> (DeviceProfile, Hidden) {
    let machine = MachineProfile::builtin("xeon-6230").unwrap();
    let mut hidden = Hidden {
        machine: machine.clone(),
        profile: DeviceProfile::builtin(name).unwrap(),
        seed: 100,
    };
    let plan = RatePlan {
        directions,
        sizes: vec![4 << 10, 16 << 10, 64 << 10, 128 << 10],
        max_iodepth: 256,
        max_jobs: 4,
        loops: 3,
        strict: true,
    };
    let points = measure_rates(&plan, &mut hidden, &mut |_| {}).unwrap();
    let rate = |runs: &PointRuns| MeasuredRate {
        place: format!("{:?}", runs.point),
        direction: runs.point.direction,
        bytes: runs.point.bytes,
        iodepth: runs.point.iodepth,
        numjobs: runs.point.numjobs,
        iops: runs.median(),
    };
    let rates: Vec<_> = points.iter().map(rate).collect();
    let by = MeasuredBy {
        machine: &machine,
        method: METHOD,
        stop: None,
    };
    let base = DeviceProfile::builtin("hdd-7200").unwrap();
    let (profile, beside) = fit_device("mine", &base, &by, &rates).unwrap();
    for rate in beside {
        assert!(rate.error().abs() < 0.1, "{name}: {rate:?}");
    }
    (profile, hidden)
}

/// Sizes, depths and jobs that the measurement does not include.
const HELD_OUT: [(u32, usize, usize); 8] = [
    (8 << 10, 1, 1),
    (32 << 10, 1, 1),
    (4 << 10, 2, 1),
    (4 << 10, 8, 1),
    (4 << 10, 32, 1),
    (4 << 10, 16, 2),
    (16 << 10, 8, 1),
    (64 << 10, 32, 1),
];

fn comes_back(name: &str, direction: Direction, directions: Vec<Direction>) {
    let (profile, mut hidden) = measured(name, directions);
    let mut mine = Hidden {
        machine: hidden.machine.clone(),
        profile,
        seed: 9_000,
    };
    for (bytes, iodepth, numjobs) in HELD_OUT {
        let point = RatePoint {
            direction,
            bytes,
            iodepth,
            numjobs,
        };
        let (mine, real) = (mine.iops(point), hidden.iops(point));
        let error = mine / real - 1.0;
        assert!(
            error.abs() < 0.1,
            "{name}, {point:?}: {mine} in place of {real}, {error}"
        );
    }
}

#[test]
fn an_optane_comes_back_at_sizes_and_depths_that_were_not_measured() {
    comes_back("optane-900p", Direction::Read, vec![Direction::Read]);
}

/// Returns true in the complete gate: each of these tests fits a profile to thirty rates.
fn thorough() -> bool {
    std::env::var_os("JOULIO_THOROUGH").is_some()
}

#[test]
fn flash_comes_back_at_sizes_and_depths_that_were_not_measured() {
    if !thorough() {
        return;
    }
    comes_back("samsung-980-pro", Direction::Read, vec![Direction::Read]);
}

#[test]
fn flash_of_the_latest_link_comes_back() {
    if !thorough() {
        return;
    }
    comes_back("micron-9550-max", Direction::Read, vec![Direction::Read]);
}

#[test]
fn a_disk_comes_back_with_its_writes() {
    let both = vec![Direction::Read, Direction::Write];
    comes_back("hdd-7200", Direction::Write, both.clone());
    comes_back("hdd-7200", Direction::Read, both);
}
