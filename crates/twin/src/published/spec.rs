//! The runs that published numbers are about: a machine, devices, a workload, a completion mode.

use crate::{DispatchThread, Path, TwinSetup};
use joulio_job::{Arrivals, BlockSizes, CompletionMode, Job, Method, ReadWrite};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_units::Nanos;
use serde::Deserialize;

/// A run, as the files of published numbers describe it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// The name by which numbers refer to it, unique among all files.
    pub name: String,
    /// The machine's profile.
    pub machine: String,
    /// The device's profile.
    pub device: String,
    /// Number of devices.
    #[serde(default = "one")]
    pub devices: usize,
    /// The completion mode.
    pub policy: CompletionMode,
    /// The software between the workload and the device.
    #[serde(default)]
    pub path: Path,
    /// The scheduler of requests.
    pub scheduler: Option<String>,
    /// True if a thread of the kernel hands requests to the driver.
    #[serde(default)]
    pub kworker: bool,
    /// True if a file system is in the path and its time is not included in the path's figures.
    #[serde(default)]
    pub file_system: bool,
    /// Percent of reads.
    #[serde(default = "all")]
    pub read_percent: u8,
    /// Bytes of an I/O; several: the jobs take them in turn.
    #[serde(default = "page")]
    pub bs: BlockSizes,
    /// I/Os in flight per job.
    #[serde(default = "one")]
    pub iodepth: usize,
    /// Jobs.
    #[serde(default = "one")]
    pub numjobs: usize,
    /// Open loop: microseconds between the arrivals of each job.
    pub every_us: Option<f64>,
    /// Multiple of the usual number of I/Os to simulate.
    #[serde(default = "one")]
    pub times: usize,
}

fn one() -> usize {
    1
}

fn all() -> u8 {
    100
}

fn page() -> BlockSizes {
    4096.into()
}

/// Returns the time that a mode has to learn before its behaviour is stable: hybrid uses statistics of the last 100
/// ms.
fn learns(mode: CompletionMode) -> Nanos {
    match mode {
        CompletionMode::Hybrid => Nanos::from_millis(102),
        _ => Nanos::from_millis(1),
    }
}

impl RunSpec {
    /// Returns the workload, with `ios` I/Os in all.
    pub fn job(&self, ios: u64, seed: u64) -> Job {
        let jobs = self.numjobs.max(1) as u64;
        Job {
            rw: ReadWrite::random_mix(self.read_percent),
            rwmixread: self.read_percent,
            bs: self.bs.clone(),
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            ramp_time: learns(self.policy),
            arrivals: match self.every_us {
                Some(us) => Arrivals::Every(Nanos::from_seconds(us / 1e6)),
                None => Arrivals::Closed,
            },
            seed,
            ..Job::random_reads((ios * self.times as u64 / jobs).max(1))
        }
    }

    /// Returns the engine and the completion mode.
    pub fn method(&self) -> Method {
        self.path.method(self.policy)
    }

    /// Returns the machine and its devices.
    pub fn setup<'a>(
        &'a self,
        machine: &'a MachineProfile,
        devices: &'a [DeviceProfile],
    ) -> TwinSetup<'a> {
        TwinSetup {
            scheduler: self.scheduler.as_deref(),
            dispatch: match self.kworker {
                true => DispatchThread::Kworker,
                false => DispatchThread::Inline,
            },
            file_system: self.file_system,
            ..TwinSetup::new(machine, devices)
        }
    }
}
