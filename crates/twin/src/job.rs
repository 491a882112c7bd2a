//! What to play.

use crate::TwinError;
use joulio_model::{DeviceProfile, FrequencyRatio, MachineProfile};
use joulio_units::Nanos;

/// When I/Os come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Closed loop: as soon as one completes, the next goes out.
    Closed,
    /// Open loop: one each interval on every job. Latency counts from the arrival.
    Every(Nanos),
    /// Open loop: at random, so long apart on average: a Poisson process.
    Random(Nanos),
    /// Open loop: so many at once each interval.
    Bursts {
        /// I/Os of a burst.
        ios: u32,
        /// From one burst to the next.
        every: Nanos,
    },
}

impl Arrivals {
    /// The first of its fields that makes no sense, and why.
    fn wrong(self) -> Option<&'static str> {
        let apart = "must be more than 0 ns apart";
        match self {
            Arrivals::Every(Nanos::ZERO) | Arrivals::Random(Nanos::ZERO) => Some(apart),
            Arrivals::Bursts { every, .. } if every == Nanos::ZERO => Some(apart),
            Arrivals::Bursts { ios: 0, .. } => Some("a burst has at least 1 I/O"),
            _ => None,
        }
    }
}

/// What I/Os are, and when they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Percent of reads; the rest are writes.
    pub read_percent: u8,
    /// Bytes of an I/O.
    pub bs: u32,
    /// When they come.
    pub arrivals: Arrivals,
}

impl Load {
    pub(crate) fn check(&self, devices: &[DeviceProfile]) -> Result<(), TwinError> {
        let wrong = |field, problem| Err(TwinError::Job { field, problem });
        if self.bs == 0 {
            return wrong("bs", "must be above zero".into());
        }
        if self.read_percent > 100 {
            return wrong("read_percent", "must be 0 to 100".into());
        }
        if let Some(problem) = self.arrivals.wrong() {
            return wrong("arrivals", problem.into());
        }
        let block = |device: &DeviceProfile| device.lba.sizes_bytes.iter().min().copied();
        let broken = |device: &&DeviceProfile| {
            block(device).is_some_and(|block| !self.bs.is_multiple_of(block))
        };
        if let Some(device) = devices.iter().find(broken) {
            let (bs, name) = (self.bs, &device.name);
            let block = block(device).unwrap_or_default();
            let problem = format!("{bs} is not a multiple of {name}'s block of {block} bytes");
            return wrong("bs", problem);
        }
        match devices.iter().find(|d| d.max_transfer() < self.bs) {
            None => Ok(()),
            Some(device) => wrong(
                "bs",
                format!(
                    "{} is more than {} transfers at once: at most {}",
                    self.bs,
                    device.name,
                    device.max_transfer()
                ),
            ),
        }
    }
}

/// A load for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// How long it holds.
    pub length: Nanos,
    /// What holds.
    pub load: Load,
}

/// The software between the workload and the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The kernel's: `[costs.kernel]` and a crossing a system call.
    Kernel,
    /// io_uring's: `[costs.uring]`, one system call to submit and one to wait.
    Uring,
    /// io_uring's with a thread of the kernel that submits and polls: `[costs.sqpoll]`. That thread
    /// spins on a core of its own, if there is one left.
    Sqpoll,
    /// The user-space driver's: `[costs.user]`, interrupts by an eventfd.
    User,
}

/// Who hands a request from its scheduler to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// The thread that submits it.
    Inline,
    /// A thread of the kernel, which is woken for it.
    Kworker,
}

/// Interrupt coalescing, as feature 08h has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// Completions that raise an interrupt at once.
    pub threshold: u32,
    /// How long the first of fewer waits at the most.
    pub time: Nanos,
}

/// A workload of equal jobs. Job i is pinned to a CPU and does its I/O to device i modulo their
/// number.
#[derive(Clone, Debug, PartialEq)]
pub struct TwinJob {
    /// Percent of reads; the rest are writes.
    pub read_percent: u8,
    /// Bytes of an I/O.
    pub bs: u32,
    /// I/Os in flight, each job.
    pub iodepth: usize,
    /// Threads.
    pub numjobs: usize,
    /// I/Os of each job, those of the ramp not counted; `None` is until `runtime` is over.
    pub number_ios: Option<u64>,
    /// How long to run, the ramp not included; `None` is until `number_ios` are done.
    pub runtime: Option<Nanos>,
    /// How long to run before measuring.
    pub ramp_time: Nanos,
    /// Closed or open loop.
    pub arrivals: Arrivals,
    /// Loads in turn, over and over, in place of `read_percent`, `bs` and `arrivals`; empty: those
    /// hold all the time.
    pub phases: Vec<Phase>,
    /// Hardware threads for the jobs, in turn; empty is 0, 1, 2 ... Numbers below the machine's
    /// cores are the first threads of its cores, the next as many the second ones, as Linux counts.
    pub cpus_allowed: Vec<usize>,
    /// The software under the jobs.
    pub path: Path,
    /// The scheduler of requests, one of `[costs.scheduler]`, or `none`, which `None` is too.
    pub scheduler: Option<String>,
    /// Who hands requests from the scheduler to the driver.
    pub dispatch: Dispatch,
    /// Whether a file system is on the way, which costs `file_system_ns`.
    pub file_system: bool,
    /// Interrupt coalescing; `None` is an interrupt a completion.
    pub coalescing: Option<Coalescing>,
    /// The clock of the jobs' cores over the reference of the machine's profile, as a governor that
    /// holds one frequency has it; `None` is the reference.
    pub frequency: Option<FrequencyRatio>,
}

impl TwinJob {
    /// One job of random 4 KiB reads at depth 1 by the kernel, `number_ios` long.
    pub fn reads(number_ios: u64) -> TwinJob {
        TwinJob {
            read_percent: 100,
            bs: 4096,
            iodepth: 1,
            numjobs: 1,
            number_ios: Some(number_ios),
            runtime: None,
            ramp_time: Nanos::ZERO,
            arrivals: Arrivals::Closed,
            phases: Vec::new(),
            cpus_allowed: Vec::new(),
            path: Path::Kernel,
            scheduler: None,
            dispatch: Dispatch::Inline,
            file_system: false,
            coalescing: None,
            frequency: None,
        }
    }

    /// Every load that it has, in turn.
    pub(crate) fn loads(&self) -> Vec<Load> {
        if self.phases.is_empty() {
            return vec![Load {
                read_percent: self.read_percent,
                bs: self.bs,
                arrivals: self.arrivals,
            }];
        }
        self.phases.iter().map(|phase| phase.load).collect()
    }

    /// Refuses what cannot be played on `machine` and `devices`.
    pub(crate) fn check(
        &self,
        machine: &MachineProfile,
        devices: &[DeviceProfile],
        cpus: usize,
    ) -> Result<(), TwinError> {
        let rules = [
            (
                (1..=4095).contains(&self.iodepth),
                "iodepth",
                "must be 1 to 4095",
            ),
            (
                (1..=4096).contains(&self.numjobs),
                "numjobs",
                "must be 1 to 4096",
            ),
            (
                self.number_ios.is_some() || self.runtime.is_some(),
                "number_ios",
                "say how much by number_ios, or how long by runtime",
            ),
            (
                self.number_ios != Some(0),
                "number_ios",
                "must be above zero",
            ),
            (
                self.runtime != Some(Nanos::ZERO),
                "runtime",
                "must be above zero",
            ),
            (
                self.phases.iter().all(|phase| phase.length > Nanos::ZERO),
                "phases",
                "must each be longer than 0 ns",
            ),
            (
                self.coalescing.is_none_or(|c| c.threshold > 0),
                "coalescing",
                "needs a threshold of at least 1",
            ),
        ];
        for (held, field, problem) in rules {
            if !held {
                let problem = problem.to_owned();
                return Err(TwinError::Job { field, problem });
            }
        }
        for load in self.loads() {
            load.check(devices)?;
        }
        if let Some(&cpu) = self.cpus_allowed.iter().find(|&&cpu| cpu >= cpus) {
            return Err(TwinError::Job {
                field: "cpus_allowed",
                problem: format!(
                    "{cpu} is not there: {} has CPUs 0 to {}",
                    machine.name,
                    cpus - 1
                ),
            });
        }
        Ok(())
    }
}
