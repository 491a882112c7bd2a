//! Description of a job with fio's options.

use crate::{
    Arrivals, Batches, BlockSizeSplit, BlockSizes, Flushes, JobError, JobKind, LatencyDetail, Load,
    Phase, QueuePriorities, RandomDistribution, ReadWrite, SteadyState, Verify,
};
use joulio_units::{Direction, MIN_WINDOW, Nanos, Operation};
use joulio_wait::Goal;
use serde::{Deserialize, Serialize};

/// A workload; any device on which [`Job::area`] accepts it can run it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Pattern and direction.
    pub rw: ReadWrite,
    /// Percent of reads in a mixed workload.
    pub rwmixread: u8,
    /// Bytes per I/O.
    pub bs: BlockSizes,
    /// Priority classes of the jobs' submission queues; `None`: the controller serves all queues alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_priority: Option<QueuePriorities>,
    /// I/Os in flight of each job, on each of its devices ([`Job::assignments`]).
    pub iodepth: usize,
    /// Jobs: threads or processes.
    pub numjobs: usize,
    /// Threads or processes.
    pub kind: JobKind,
    /// Distribution of random I/Os over the blocks.
    #[serde(default)]
    pub random_distribution: RandomDistribution,
    /// Distance in bytes between the places where random I/Os may begin; `None`: the size of an I/O.
    #[serde(default)]
    pub block_align: Option<u64>,
    /// Bytes at the start of the device that are not used.
    #[serde(default)]
    pub offset: u64,
    /// Bytes of the device that are used, from `offset` on; `None`: the rest of the device.
    pub size: Option<u64>,
    /// Nanoseconds to run, without the ramp; `None`: until `number_ios` are done.
    pub runtime: Option<Nanos>,
    /// I/Os of each job on each of its devices, without those of the ramp; `None`: until `runtime` is over.
    pub number_ios: Option<u64>,
    /// Nanoseconds for which energy is counted, from the beginning of the measured part: a run that is done earlier
    /// is then idle. `None`: to the end of the work. Used with `number_ios`.
    pub window: Option<Nanos>,
    /// Nanoseconds from the start of the run to the start of the job.
    #[serde(default)]
    pub start_delay: Nanos,
    /// Nanoseconds to run before measuring.
    pub ramp_time: Nanos,
    /// Closed or open loop.
    pub arrivals: Arrivals,
    /// Loads that alternate, over and over, in place of `rw`, `rwmixread`, `bs` and `arrivals`; empty: those apply
    /// all the time. `rw` still determines whether blocks are random or sequential.
    pub phases: Vec<Phase>,
    /// CPUs for the jobs' threads, in turn; empty: any CPU.
    pub cpus_allowed: Vec<usize>,
    /// NUMA node of the jobs' memory; `None`: the kernel chooses.
    #[serde(default)]
    pub numa_node: Option<u32>,
    /// Data verification.
    pub verify: Verify,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Goal of the completion mode `adaptive`.
    #[serde(default)]
    pub goal: Goal,
    /// Latency figures of the result in addition to the usual ones.
    #[serde(default)]
    pub latency: LatencyDetail,
    /// I/Os that are submitted or completed together.
    #[serde(default)]
    pub batches: Batches,
    /// Flushes between and after the writes.
    #[serde(default)]
    pub flushes: Flushes,
    /// Steady state that ends the run early; `None`: no steady state is detected.
    #[serde(default)]
    pub steady_state: Option<SteadyState>,
    /// True if the end of the first job ends all others of the run.
    #[serde(default)]
    pub exitall: bool,
    /// True if every I/O of a real run is logged: [`LoggedIo`](crate::LoggedIo).
    #[serde(default)]
    pub log_ios: bool,
}

impl Job {
    /// Returns a job of `number_ios` random 4 KiB reads at depth 1 in a closed loop.
    pub fn random_reads(number_ios: u64) -> Job {
        Job {
            rw: ReadWrite::RandRead,
            rwmixread: 50,
            bs: 4096.into(),
            queue_priority: None,
            iodepth: 1,
            numjobs: 1,
            kind: JobKind::Thread,
            random_distribution: RandomDistribution::Uniform,
            block_align: None,
            offset: 0,
            size: None,
            runtime: None,
            number_ios: Some(number_ios),
            window: None,
            start_delay: Nanos::ZERO,
            ramp_time: Nanos::ZERO,
            arrivals: Arrivals::Closed,
            phases: Vec::new(),
            cpus_allowed: Vec::new(),
            numa_node: None,
            verify: Verify::None,
            seed: 1,
            goal: Goal::default(),
            latency: LatencyDetail::default(),
            batches: Batches::default(),
            flushes: Flushes::default(),
            steady_state: None,
            exitall: false,
            log_ios: false,
        }
    }

    /// Checks everything that does not depend on the device.
    ///
    /// # Errors
    /// [`JobError`], which names the first invalid flag.
    pub fn check(&self) -> Result<(), JobError> {
        let wrong = |flag, problem: &str| {
            Err(JobError {
                flag,
                problem: problem.into(),
            })
        };
        if self.bs.iter().any(|size| size == 0) {
            return wrong("--bs", "must be above zero");
        }
        if self.iodepth == 0 {
            return wrong("--iodepth", "must be at least 1");
        }
        if !(1..=self.iodepth).contains(&self.batches.complete_min) {
            return wrong(
                "--iodepth_batch_complete_min",
                "at least 1 and at most --iodepth completions can be waited for",
            );
        }
        if self.numjobs == 0 {
            return wrong("--numjobs", "must be at least 1");
        }
        if self.numjobs > 256 {
            return wrong("--numjobs", "at most 256 jobs");
        }
        if self.bs.count() > self.numjobs {
            return Err(JobError {
                flag: "--bs",
                problem: format!(
                    "{} sizes for {} job(s): jobs take them in turn, and one would have none; raise --numjobs",
                    self.bs.count(),
                    self.numjobs
                ),
            });
        }
        if let Some(classes) = &self.queue_priority
            && classes.count() > self.numjobs
        {
            return Err(JobError {
                flag: "--queue_priority",
                problem: format!(
                    "{} classes for {} job(s): jobs take them in turn, and one would have none; raise --numjobs",
                    classes.count(),
                    self.numjobs
                ),
            });
        }
        if self.rwmixread > 100 {
            return wrong("--rwmixread", "a percentage: 0 to 100");
        }
        if self.runtime == Some(Nanos::ZERO) {
            return wrong("--runtime", "must be above zero");
        }
        if self.number_ios == Some(0) {
            return wrong("--number_ios", "must be above zero");
        }
        if let Some(window) = self.window {
            if self.number_ios.is_none() {
                return wrong(
                    "--window",
                    "fixed work in a fixed window: say how much by --number_ios",
                );
            }
            if window < MIN_WINDOW {
                return wrong("--window", "give at least 1 s: meters resolve no less");
            }
        }
        if let Some(steady) = &self.steady_state {
            if let Some(problem) = steady.problem(self.runtime) {
                return wrong("--steadystate", problem);
            }
            if self.kind == JobKind::Process {
                return wrong(
                    "--steadystate",
                    "threads can be ended early alone: leave out --process",
                );
            }
        }
        let together = Arrivals::Every(Nanos::ZERO);
        if self.arrivals == together || self.arrivals == Arrivals::Poisson(Nanos::ZERO) {
            return wrong(
                "--rate_iops",
                "at most one I/O a nanosecond can arrive: use a lower rate",
            );
        }
        if let Some(problem) = self.arrivals.problem() {
            return wrong("arrivals", problem);
        }
        if self.verify != Verify::None && self.split().is_some() {
            return wrong(
                "--verify",
                "blocks of drawn sizes overlap: give one --bs to verify",
            );
        }
        if self.block_align == Some(0) {
            return wrong("--blockalign", "must be above zero");
        }
        if self.verify != Verify::None && self.block_align.is_some() {
            return wrong(
                "--verify",
                "blocks that begin anywhere may overlap: leave --blockalign out",
            );
        }
        let in_bytes = matches!(self.random_distribution, RandomDistribution::ZonedAbs(_));
        if self.verify != Verify::None && self.numjobs > 1 && in_bytes {
            return wrong(
                "--verify",
                "each job verifies a part of its own, and zones in bytes are of the whole: give --numjobs 1, or --random_distribution zoned",
            );
        }
        if self.verify != Verify::None && self.rw.only_trims() {
            return wrong(
                "--verify",
                "trims write nothing that could be verified: --rw trimwrite writes each block after its trim",
            );
        }
        self.check_phases()
    }

    fn check_phases(&self) -> Result<(), JobError> {
        let wrong = |problem: &str| {
            Err(JobError {
                flag: "--phases",
                problem: problem.into(),
            })
        };
        for phase in &self.phases {
            if phase.length == Nanos::ZERO {
                return wrong("must each be longer than 0 ns");
            }
            if phase.load.bs == 0 {
                return wrong("bytes of an I/O must be above zero");
            }
            if phase.load.read_percent > 100 {
                return wrong("a percentage of reads is 0 to 100");
            }
            if let Some(problem) = phase.load.arrivals.problem() {
                return wrong(problem);
            }
            if matches!(phase.load.arrivals, Arrivals::Think { .. }) {
                return wrong("stalls are of one load: leave out this or --thinktime");
            }
        }
        if self.rw.trims() && !self.phases.is_empty() {
            return wrong("phases are of reads and writes: leave out this, or the trims of --rw");
        }
        if self.verify != Verify::None && !self.phases.is_empty() {
            return wrong("verification is of one load: leave out this or --verify");
        }
        Ok(())
    }

    /// Returns the sizes that are drawn for each I/O; `None`: each load has one size.
    pub fn split(&self) -> Option<&BlockSizeSplit> {
        self.bs.split().filter(|_| self.phases.is_empty())
    }

    /// Returns the loads of job `index`, at least one: they take turns, or are drawn by the weights of their sizes.
    pub fn loads(&self, index: usize) -> Vec<Load> {
        if self.phases.is_empty() {
            let of_job = self.bs.of_job(index);
            let drawn = self.split().map(|split| split.iter().collect());
            let sizes: Vec<u64> = drawn.unwrap_or_else(|| vec![of_job]);
            let load = |bytes| Load {
                read_percent: self.read_percent(),
                // Every device refuses I/Os that are longer.
                bs: u32::try_from(bytes).unwrap_or(u32::MAX),
                arrivals: self.arrivals,
            };
            return sizes.into_iter().map(load).collect();
        }
        self.phases.iter().map(|phase| phase.load).collect()
    }

    /// Returns the loads of all jobs: those of job `index` are adjacent, from [`Job::first_load`] on.
    pub fn all_loads(&self) -> Vec<Load> {
        let sizes = match self.phases.is_empty() {
            true => self.bs.count(),
            false => 1,
        };
        (0..sizes).flat_map(|index| self.loads(index)).collect()
    }

    /// Returns the index of the first load of job `index` in [`Job::all_loads`].
    pub fn first_load(&self, index: usize) -> usize {
        match self.phases.is_empty() {
            true => index % self.bs.count(),
            false => 0,
        }
    }

    /// Returns the bytes of the job's I/Os, one size or more.
    pub(crate) fn sizes(&self) -> Vec<u64> {
        match self.phases.as_slice() {
            [] => self.bs.iter().collect(),
            phases => phases.iter().map(|phase| phase.load.bs.into()).collect(),
        }
    }

    /// Returns the bytes of the longest I/O of job `index`.
    pub fn max_bs(&self, index: usize) -> u64 {
        let sizes = self.phases.iter().map(|phase| phase.load.bs.into());
        sizes.max().unwrap_or_else(|| self.bs.of_job(index))
    }

    /// Returns the distance in bytes between the places where I/Os of job `index` may begin.
    pub fn spacing(&self, index: usize) -> u64 {
        let split = || self.split().map(BlockSizeSplit::common_divisor);
        let align = self.block_align.filter(|_| self.rw.is_random());
        align.or_else(split).unwrap_or_else(|| self.max_bs(index))
    }

    /// Returns true if some I/Os of the job have `direction`.
    pub fn does(&self, direction: Direction) -> bool {
        let percent = |phase: &Phase| match direction {
            Direction::Read => phase.load.read_percent,
            Direction::Write => 100_u8.saturating_sub(phase.load.read_percent),
            Direction::Other => 0,
        };
        match self.phases.as_slice() {
            [] => self.rw.does(direction),
            phases => phases.iter().any(|phase| percent(phase) > 0),
        }
    }

    /// Returns true if some of the job's requests are `operation`.
    pub fn has(&self, operation: Operation) -> bool {
        let writes = self.does(Direction::Write) && !self.rw.only_trims();
        match operation {
            Operation::Read => self.does(Direction::Read),
            Operation::Write => writes,
            Operation::Trim => self.rw.trims(),
            Operation::Sync => {
                let end = self.flushes.end_fsync && self.does(Direction::Write);
                end || writes && self.flushes.fsync > 0
            }
            Operation::DataSync => writes && self.flushes.fdatasync > 0,
        }
    }

    /// Returns true if some of the job's requests transfer no data: trims and flushes.
    pub fn has_dataless(&self) -> bool {
        let mut all = Operation::ALL.into_iter();
        all.any(|operation| !operation.moves_data() && self.has(operation))
    }

    /// Returns true if some of the job's requests are flushes.
    pub fn has_flushes(&self) -> bool {
        self.has(Operation::Sync) || self.has(Operation::DataSync)
    }

    /// Returns the percentage of reads, 0 to 100, of a job without phases.
    pub fn read_percent(&self) -> u8 {
        self.rw.read_percent(self.rwmixread)
    }

    /// Returns the name of the loop in results: `closed`, `open`, or `closed and open` if phases differ.
    pub fn loop_name(&self) -> &'static str {
        let loads = self.loads(0).into_iter();
        let (closed, open): (Vec<_>, Vec<_>) = loads.partition(|load| load.arrivals.is_closed());
        match (closed.is_empty(), open.is_empty()) {
            (true, _) => "open",
            (_, true) => "closed",
            _ => "closed and open",
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn job() -> Job {
        Job {
            iodepth: 4,
            ..Job::random_reads(100)
        }
    }

    #[test]
    fn a_bad_job_names_its_flag() {
        let flag = |change: fn(&mut Job)| {
            let mut job = job();
            change(&mut job);
            let area = job.check().and_then(|()| job.area(1 << 20, 512));
            area.unwrap_err().flag
        };
        assert_eq!(flag(|j| j.bs = 0.into()), "--bs");
        assert_eq!(flag(|j| j.bs = 1000.into()), "--bs");
        assert_eq!(flag(|j| j.bs = (1 << 21).into()), "--bs");
        assert_eq!(flag(|j| j.bs = "4k:8k".parse().unwrap()), "--bs");
        fn two(j: &mut Job, bs: &str) {
            (j.numjobs, j.bs) = (2, bs.parse().unwrap());
        }
        assert_eq!(flag(|j| two(j, "4k:0")), "--bs");
        assert_eq!(flag(|j| two(j, "4k:1000")), "--bs");
        assert_eq!(flag(|j| two(j, "4k:2M")), "--bs");
        assert_eq!(flag(|j| j.size = Some(1 << 21)), "--size");
        assert_eq!(flag(|j| j.size = Some(4095)), "--size");
        assert_eq!(flag(|j| j.runtime = Some(Nanos::ZERO)), "--runtime");
        assert_eq!(flag(|j| j.number_ios = Some(0)), "--number_ios");
        assert_eq!(flag(|j| j.window = Some(Nanos(999_999_999))), "--window");
        let by_time = |j: &mut Job| {
            (j.number_ios, j.runtime) = (None, Some(MIN_WINDOW));
            j.window = Some(MIN_WINDOW);
        };
        assert_eq!(flag(by_time), "--window");
        assert_eq!(flag(|j| j.iodepth = 0), "--iodepth");
        assert_eq!(flag(|j| j.numjobs = 0), "--numjobs");
        assert_eq!(flag(|j| j.rwmixread = 101), "--rwmixread");
        assert_eq!(
            flag(|j| j.arrivals = Arrivals::Poisson(Nanos::ZERO)),
            "--rate_iops"
        );
    }

    #[test]
    fn phases_are_checked_as_the_load_that_they_replace() {
        let phase = Phase {
            length: Nanos(1_000),
            load: Load {
                read_percent: 100,
                bs: 4096,
                arrivals: Arrivals::Closed,
            },
        };
        let check = |change: fn(&mut Job)| {
            let mut job = job();
            job.phases = vec![phase; 2];
            change(&mut job);
            let area = job.check().and_then(|()| job.area(1 << 20, 512));
            area.map_err(|error| error.flag)
        };
        assert!(check(|_| {}).is_ok());
        // Settings that phases replace are not checked.
        assert!(check(|j| j.bs = (1 << 18).into()).is_ok());
        assert!(check(|j| j.phases[1].length = Nanos::ZERO) == Err("--phases"));
        assert!(check(|j| j.phases[1].load.read_percent = 101) == Err("--phases"));
        assert!(check(|j| j.phases[1].load.bs = 0) == Err("--phases"));
        assert!(check(|j| j.phases[1].load.bs = 1000) == Err("--bs"));
        assert!(
            check(|j| j.phases[0].load.arrivals = Arrivals::Poisson(Nanos::ZERO))
                == Err("--phases")
        );
        assert!(check(|j| j.verify = Verify::Crc32c) == Err("--phases"));
        let mut job = job();
        job.phases = vec![phase; 2];
        assert!(job.does(Direction::Read) && !job.does(Direction::Write));
        job.phases[1].load = Load {
            read_percent: 99,
            bs: 8192,
            ..phase.load
        };
        assert!(job.does(Direction::Write));
        assert_eq!(job.max_bs(3), 8192);
        // Sizes that phases replace are not used either.
        job.bs = "512/50:1k/50".parse().unwrap();
        assert!(job.split().is_none() && job.spacing(0) == 8192);
        assert_eq!(job.loop_name(), "closed");
        job.phases[1].load.arrivals = Arrivals::Every(Nanos(1));
        assert_eq!(job.loop_name(), "closed and open");
        job.phases.remove(0);
        assert_eq!(job.loop_name(), "open");
    }
}
