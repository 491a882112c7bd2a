//! Workload of an experiment, as flags and files specify it.

use super::cpus::wrong;
use super::goal::GoalOptions;
use super::numa;
use super::rate_phase::RatePhase;
use joulio_units::Nanos;
use joulio_workload::{
    Arrivals, Batches, BlockSizes, Flushes, Job, JobError, JobKind, LatencyDetail, Load, Phase,
    QueuePriorities, RandomDistribution, ReadWrite, SteadyState, Verify,
};

/// Workload options, named as in fio.
#[derive(Clone, Debug)]
pub struct WorkloadOptions {
    /// Pattern and direction.
    pub rw: ReadWrite,
    /// Percent of reads in a mixed workload.
    pub rwmixread: u8,
    /// Bytes of an I/O; if there are several sizes, jobs take them in turn.
    pub bs: BlockSizes,
    /// Priority classes of the jobs' queues; `None`: no class is set.
    pub queue_priority: Option<QueuePriorities>,
    /// I/Os in flight per job.
    pub iodepth: usize,
    /// Number of jobs.
    pub numjobs: usize,
    /// Kind of jobs: threads or processes.
    pub kind: JobKind,
    /// Distribution of random I/Os over the blocks.
    pub random_distribution: RandomDistribution,
    /// Alignment of random I/Os in bytes; `None`: the size of an I/O.
    pub block_align: Option<u64>,
    /// Offset in bytes on each device at which I/O begins.
    pub offset: u64,
    /// Bytes of each device that are used, from `offset`; `None`: the rest of the device.
    pub size: Option<u64>,
    /// Open loop: I/Os per second that arrive at each job.
    pub rate_iops: Option<u64>,
    /// Process by which the I/Os of `rate_iops` and `phases` arrive.
    pub rate_process: RateProcess,
    /// Phases of the load, repeated; empty: one load all the time.
    pub phases: Vec<RatePhase>,
    /// Time in nanoseconds that a job stalls after I/Os have completed.
    pub thinktime: Option<Nanos>,
    /// Number of I/Os between two stalls; `None`: 1.
    pub thinktime_blocks: Option<u32>,
    /// Open loop: number of I/Os in a burst, and nanoseconds from one burst to the next.
    pub bursts: Option<(u32, Nanos)>,
    /// CPUs of the jobs' threads, assigned in turn; empty: any.
    pub cpus_allowed: Vec<usize>,
    /// NUMA node of the jobs' memory and, without `cpus_allowed`, of their CPUs; `None`: the kernel chooses.
    pub numa_node: Option<u32>,
    /// Length of a run in nanoseconds, without the ramp.
    pub runtime: Option<Nanos>,
    /// I/Os of each job, without the ramp's.
    pub number_ios: Option<u64>,
    /// Time in nanoseconds over which energy is counted, if it is longer than the work.
    pub window: Option<Nanos>,
    /// Ramp in nanoseconds before the measurement; `None`: the command's default.
    pub ramp_time: Option<Nanos>,
    /// Data verification.
    pub verify: Verify,
    /// Seed of every random number.
    pub seed: u64,
    /// Goal of the completion mode `adaptive`.
    pub goal: GoalOptions,
    /// I/Os that are submitted or reaped together.
    pub batches: Batches,
    /// Flushes between and after the writes.
    pub flushes: Flushes,
    /// Steady state that ends a run early.
    pub steady_state: Option<SteadyState>,
    /// Nanoseconds from the start of a run to the start of its jobs.
    pub start_delay: Nanos,
    /// True if the end of the first job ends all others.
    pub exitall: bool,
    /// Latency details that results have in addition to the usual figures.
    pub latency: LatencyDetail,
}

/// Process by which the I/Os of a rate arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateProcess {
    /// Equal intervals.
    #[default]
    Linear,
    /// Random intervals, as from many independent clients.
    Poisson,
}

impl Default for WorkloadOptions {
    fn default() -> WorkloadOptions {
        WorkloadOptions {
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
            rate_iops: None,
            rate_process: RateProcess::Linear,
            phases: Vec::new(),
            thinktime: None,
            thinktime_blocks: None,
            bursts: None,
            cpus_allowed: Vec::new(),
            numa_node: None,
            runtime: None,
            number_ios: None,
            window: None,
            ramp_time: None,
            verify: Verify::None,
            seed: 1,
            goal: GoalOptions::default(),
            batches: Batches::default(),
            flushes: Flushes::default(),
            steady_state: None,
            start_delay: Nanos::ZERO,
            exitall: false,
            latency: LatencyDetail::default(),
        }
    }
}

impl WorkloadOptions {
    /// Returns the job that these options describe.
    ///
    /// # Errors
    /// [`JobError`], naming the first flag that is not valid.
    pub fn job(&self) -> Result<Job, JobError> {
        let job = Job {
            rw: self.rw,
            rwmixread: self.rwmixread,
            bs: self.bs.clone(),
            queue_priority: self.queue_priority.clone(),
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            kind: self.kind,
            random_distribution: self.random_distribution.clone(),
            block_align: self.block_align,
            offset: self.offset,
            size: self.size,
            runtime: self.runtime,
            number_ios: self.number_ios,
            window: self.window,
            ramp_time: self.ramp_time.unwrap_or_default(),
            arrivals: self.arrivals()?,
            phases: self.phases()?,
            cpus_allowed: match self.numa_node {
                Some(node) if self.cpus_allowed.is_empty() => numa::cpus(node)?,
                _ => self.cpus_allowed.clone(),
            },
            numa_node: self.numa_node,
            verify: self.verify,
            seed: self.seed,
            goal: self.goal.goal(),
            latency: self.latency.clone(),
            batches: self.batches,
            flushes: self.flushes,
            steady_state: self.steady_state,
            start_delay: self.start_delay,
            exitall: self.exitall,
            log_ios: false,
        };
        job.check()?;
        Ok(job)
    }

    /// Returns the job with all the values that results show, even if it is not valid.
    pub(crate) fn nominal(&self) -> Job {
        Job {
            rw: self.rw,
            rwmixread: self.rwmixread,
            bs: self.bs.clone(),
            queue_priority: self.queue_priority.clone(),
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            kind: self.kind,
            ramp_time: self.ramp_time.unwrap_or_default(),
            ..Job::random_reads(0)
        }
    }

    fn arrivals(&self) -> Result<Arrivals, JobError> {
        let above_zero = |flag| wrong(flag, "must be above zero");
        Ok(match (self.rate_iops, self.thinktime) {
            (Some(0), _) => return Err(above_zero("--rate_iops")),
            (Some(rate), _) => self.at_rate(rate),
            // A stall of zero is none, as in fio.
            (None, Some(Nanos::ZERO)) => Arrivals::Closed,
            (None, Some(time)) => match self.thinktime_blocks.unwrap_or(1) {
                0 => return Err(above_zero("--thinktime_blocks")),
                blocks => Arrivals::Think { time, blocks },
            },
            (None, None) => match self.bursts {
                Some((0, _)) | Some((_, Nanos::ZERO)) => return Err(above_zero("--bursts")),
                Some((ios, every)) => Arrivals::Bursts { ios, every },
                None => Arrivals::Closed,
            },
        })
    }

    /// Returns the arrivals at `rate` I/Os per second, which is above zero.
    fn at_rate(&self, rate: u64) -> Arrivals {
        let interval = Nanos(1_000_000_000 / rate);
        match self.rate_process {
            RateProcess::Linear => Arrivals::Every(interval),
            RateProcess::Poisson => Arrivals::Poisson(interval),
        }
    }

    fn phases(&self) -> Result<Vec<Phase>, JobError> {
        if self.phases.is_empty() {
            return Ok(Vec::new());
        }
        if self.bs.iter().count() > 1 {
            return Err(wrong(
                "--phases",
                "jobs of several sizes have no phases: give one --bs",
            ));
        }
        if self.phases.iter().any(|phase| phase.rate == Some(0)) {
            return Err(wrong("--phases", "a rate must be above zero"));
        }
        let bs = u32::try_from(self.bs.of_job(0));
        let bs = bs.map_err(|_| wrong("--bs", "must be below 4 GiB"))?;
        let read_percent = self.rw.read_percent(self.rwmixread);
        let phases = self.phases.iter().map(|phase| Phase {
            length: phase.length,
            load: Load {
                read_percent,
                bs,
                arrivals: phase
                    .rate
                    .map_or(Arrivals::Closed, |rate| self.at_rate(rate)),
            },
        });
        Ok(phases.collect())
    }
}
