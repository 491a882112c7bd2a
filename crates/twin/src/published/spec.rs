//! What a published number is about: a machine, devices, a workload, a way of waiting.

use super::PlayError;
use crate::job::{Arrivals, Dispatch, Path, TwinJob};
use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Hybrid, Uintr};
use serde::Deserialize;

/// A run, as the files of published numbers describe it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// The name that numbers call it by; unique among all files.
    pub name: String,
    /// The machine's profile.
    pub machine: String,
    /// The device's profile.
    pub device: String,
    /// How many of them.
    #[serde(default = "one")]
    pub devices: usize,
    /// The way of waiting.
    pub policy: PolicyName,
    /// The software under it.
    #[serde(default)]
    pub path: PathName,
    /// The scheduler of requests.
    pub scheduler: Option<String>,
    /// Whether a thread of the kernel hands requests to the driver.
    #[serde(default)]
    pub kworker: bool,
    /// Whether a file system is on the way and not in the path's own figures.
    #[serde(default)]
    pub file_system: bool,
    /// Percent of reads.
    #[serde(default = "all")]
    pub read_percent: u8,
    /// Bytes of an I/O.
    #[serde(default = "page")]
    pub bs: u32,
    /// I/Os in flight, each job.
    #[serde(default = "one")]
    pub iodepth: usize,
    /// Jobs.
    #[serde(default = "one")]
    pub numjobs: usize,
    /// Open loop: microseconds between the arrivals of each job.
    pub every_us: Option<f64>,
    /// How many times the usual number of I/Os to play.
    #[serde(default = "one")]
    pub times: usize,
}

/// A way of waiting, by the name that `--completion` has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// Classic polling.
    Poll,
    /// Half the mean, then polling.
    Hybrid,
    /// An interrupt an I/O.
    Interrupt,
    /// An interrupt straight to the thread, which sleeps lightly meanwhile: SPDK+'s.
    Uintr,
}

/// A path, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathName {
    /// See [`Path::Kernel`].
    #[default]
    Kernel,
    /// See [`Path::Uring`].
    Uring,
    /// See [`Path::Sqpoll`].
    Sqpoll,
    /// See [`Path::User`].
    User,
}

fn one() -> usize {
    1
}

fn all() -> u8 {
    100
}

fn page() -> u32 {
    4096
}

impl PolicyName {
    /// A new one of it.
    pub fn policy(self) -> AnyPolicy {
        match self {
            PolicyName::Poll => AnyPolicy::POLL,
            PolicyName::Interrupt => AnyPolicy::INTERRUPT,
            PolicyName::Uintr => AnyPolicy::Uintr(Uintr),
            PolicyName::Hybrid => AnyPolicy::Hybrid(Hybrid::automatic()),
        }
    }

    /// How long it learns before it is itself: hybrid's statistics are those of the last 100 ms.
    fn learns(self) -> Nanos {
        match self {
            PolicyName::Hybrid => Nanos::from_millis(102),
            _ => Nanos::from_millis(1),
        }
    }
}

impl RunSpec {
    /// The workload, `ios` I/Os long in all.
    pub fn job(&self, ios: u64) -> Result<TwinJob, PlayError> {
        let jobs = self.numjobs.max(1) as u64;
        let arrivals = match self.every_us {
            Some(us) => Arrivals::Every(Nanos::from_seconds(us / 1e6)),
            None => Arrivals::Closed,
        };
        Ok(TwinJob {
            read_percent: self.read_percent,
            bs: self.bs,
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            number_ios: Some((ios * self.times as u64 / jobs).max(1)),
            runtime: None,
            ramp_time: self.policy.learns(),
            arrivals,
            phases: Vec::new(),
            cpus_allowed: Vec::new(),
            path: match self.path {
                PathName::Kernel => Path::Kernel,
                PathName::Uring => Path::Uring,
                PathName::Sqpoll => Path::Sqpoll,
                PathName::User => Path::User,
            },
            scheduler: self.scheduler.clone(),
            dispatch: if self.kworker {
                Dispatch::Kworker
            } else {
                Dispatch::Inline
            },
            file_system: self.file_system,
            coalescing: None,
            frequency: None,
        })
    }
}
