//! A device with a load.

use joulio_job::{Arrivals, Job, Load, Phase, ReadWrite};
use joulio_model::MachineProfile;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Arrivals of I/Os, relative to the rate of the device with polling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum LoadKind {
    /// Closed loop: the next I/O is submitted as soon as one completes.
    Closed,
    /// Open loop: random arrivals, at a percentage of the closed loop's rate.
    Open {
        /// Percent of the closed loop's rate.
        percent: u8,
    },
    /// Bursts of twice the depth, at 30 percent of the closed loop's rate.
    Bursty,
    /// Phases in turn: the closed loop, and 5 percent of its rate with the shares of reads and writes exchanged.
    Phases,
    /// Closed loop with several jobs on each CPU.
    Shared {
        /// Jobs on a CPU.
        jobs: u8,
    },
    /// Closed loop, with a thread on each job's CPU that computes without end.
    BesideCompute,
}

impl LoadKind {
    /// Loads of the full grid.
    pub const ALL: [LoadKind; 9] = [
        LoadKind::Closed,
        LoadKind::Open { percent: 10 },
        LoadKind::Open { percent: 40 },
        LoadKind::Open { percent: 70 },
        LoadKind::Bursty,
        LoadKind::Phases,
        LoadKind::Shared { jobs: 2 },
        LoadKind::Shared { jobs: 4 },
        LoadKind::BesideCompute,
    ];

    /// Returns the number of threads of another program on each CPU of the jobs.
    pub fn neighbours(self) -> usize {
        usize::from(self == LoadKind::BesideCompute)
    }

    /// Returns the number of jobs on each CPU.
    fn jobs_on_cpu(self) -> usize {
        match self {
            LoadKind::Shared { jobs } => usize::from(jobs),
            _ => 1,
        }
    }
}

impl fmt::Display for LoadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadKind::Closed => f.write_str("closed"),
            LoadKind::Open { percent } => write!(f, "open-{percent}"),
            LoadKind::Bursty => f.write_str("bursty"),
            LoadKind::Phases => f.write_str("phases"),
            LoadKind::Shared { jobs } => write!(f, "shared-{jobs}"),
            LoadKind::BesideCompute => f.write_str("beside-compute"),
        }
    }
}

impl From<LoadKind> for String {
    fn from(load: LoadKind) -> String {
        load.to_string()
    }
}

/// Error of a text that is not the name of a load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a load: closed, open-10 (percent, 1 to 100), bursty, phases, shared-2 (jobs on a CPU, 2 to 16), beside-compute"
)]
pub struct UnknownLoad(pub String);

impl TryFrom<String> for LoadKind {
    type Error = UnknownLoad;

    fn try_from(text: String) -> Result<LoadKind, UnknownLoad> {
        text.parse()
    }
}

impl FromStr for LoadKind {
    type Err = UnknownLoad;

    fn from_str(text: &str) -> Result<LoadKind, UnknownLoad> {
        match text {
            "closed" => return Ok(LoadKind::Closed),
            "bursty" => return Ok(LoadKind::Bursty),
            "phases" => return Ok(LoadKind::Phases),
            "beside-compute" => return Ok(LoadKind::BesideCompute),
            _ => {}
        }
        let number = |prefix| text.strip_prefix(prefix).and_then(|n| n.parse().ok());
        match (number("open-"), number("shared-")) {
            (Some(percent @ 1..=100), _) => Ok(LoadKind::Open { percent }),
            (_, Some(jobs @ 2..=16)) => Ok(LoadKind::Shared { jobs }),
            _ => Err(UnknownLoad(text.into())),
        }
    }
}

/// A device with a load: a cell without its view.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Scenario {
    /// The device's profile.
    pub device: String,
    /// I/Os in flight per job.
    pub iodepth: usize,
    /// Number of jobs; for a load that shares CPUs, the number of CPUs.
    pub numjobs: usize,
    /// Bytes of an I/O.
    pub bs: u32,
    /// Percent of reads.
    pub read_percent: u8,
    /// Arrivals of I/Os.
    pub load: LoadKind,
}

impl Scenario {
    /// Returns true if the jobs share their CPUs on `machine`, with each other or with other threads.
    pub fn shares_cpus(&self, machine: &MachineProfile) -> bool {
        let threads = self.load.jobs_on_cpu() + self.load.neighbours();
        threads > 1 || self.numjobs > machine.cpus()
    }

    /// Returns the closed loop of the scenario, with `ios` I/Os in all, on a machine with `cpus` CPUs.
    pub(crate) fn closed(&self, ios: u64, ramp_time: Nanos, seed: u64, cpus: usize) -> Job {
        let numjobs = self.numjobs * self.load.jobs_on_cpu();
        Job {
            rw: ReadWrite::random_mix(self.read_percent),
            rwmixread: self.read_percent,
            bs: u64::from(self.bs).into(),
            iodepth: self.iodepth,
            numjobs,
            cpus_allowed: match self.load {
                LoadKind::Shared { .. } => (0..self.numjobs.min(cpus)).collect(),
                _ => Vec::new(),
            },
            number_ios: Some((ios / numjobs as u64).max(1)),
            ramp_time,
            seed,
            ..Job::random_reads(1)
        }
    }

    /// Returns the scenario's job, with `ios` I/Os in all, if its closed loop reaches `iops` on `cpus` CPUs.
    pub(crate) fn job(
        &self,
        ios: u64,
        ramp_time: Nanos,
        seed: u64,
        (iops, cpus): (f64, usize),
    ) -> Job {
        let job = self.closed(ios, ramp_time, seed, cpus);
        let every = |percent: f64| {
            // One I/O of each job.
            let seconds = self.numjobs as f64 / (iops.max(1e-6) * percent / 100.0);
            Nanos::from_seconds(seconds).max(Nanos(1))
        };
        match self.load {
            LoadKind::Closed | LoadKind::Shared { .. } | LoadKind::BesideCompute => job,
            LoadKind::Open { percent } => Job {
                arrivals: Arrivals::Poisson(every(f64::from(percent))),
                ..job
            },
            LoadKind::Bursty => {
                let ios = 2 * self.iodepth as u32;
                let every = Nanos(every(30.0).0 * u64::from(ios));
                Job {
                    arrivals: Arrivals::Bursts { ios, every },
                    ..job
                }
            }
            LoadKind::Phases => Job {
                phases: self.phases(every(100.0), every(5.0)),
                ..job
            },
        }
    }

    /// Returns the phases: a busy one of 2000 I/Os, and a calm one of 200.
    fn phases(&self, busy: Nanos, calm: Nanos) -> Vec<Phase> {
        let load = Load {
            read_percent: self.read_percent,
            bs: self.bs,
            arrivals: Arrivals::Closed,
        };
        let other = Load {
            read_percent: 100 - self.read_percent,
            arrivals: Arrivals::Poisson(calm),
            ..load
        };
        let phase = |load, length| Phase { length, load };
        vec![
            phase(load, Nanos(busy.0 * 2_000)),
            phase(other, Nanos(calm.0 * 200)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_what_its_name_says() {
        for load in LoadKind::ALL {
            assert_eq!(load.to_string().parse(), Ok(load));
        }
        for wrong in [
            "", "open-0", "open-101", "open", "Closed", "shared-1", "shared-",
        ] {
            let error = wrong.parse::<LoadKind>().unwrap_err().to_string();
            assert!(error.contains("open-10"), "{error}");
        }
    }
}
