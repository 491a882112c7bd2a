//! Flags of every command that does I/O, in fio's words and spellings.

use crate::failure::Failure;
use crate::goal::GoalArgs;
use crate::phases::PhaseFlag;
use crate::signals::cancel;
use crate::times::{microseconds, seconds};
use joulio_emulator::FaultPlan;
use joulio_lab::{TargetName, TargetOptions};
use joulio_nvme::ControllerOptions;
use joulio_units::Nanos;
use joulio_workload::{
    Arrivals, BlockSizes, Job, JobKind, Load, Phase, ReadWrite, RingOptions, Verify, parse_count,
    parse_size,
};

/// Flags that fio has mean what they mean there.
#[derive(clap::Args)]
pub struct WorkArgs {
    /// Device: emulated:PROFILE[,file=PATH][,size=BYTES][,lba=512|4096][,seed=N] or
    /// pcie:ADDRESS[,nsid=N] or vfio-user:SOCKET[,nsid=N], which joulio drives, or the path of a
    /// block device or file, which the kernel drives. Repeatable: jobs are spread over devices
    #[arg(long, default_value = "emulated:optane-900p")]
    pub device: Vec<TargetName>,
    /// read, write, randread, randwrite, randrw or rw
    #[arg(long, alias = "readwrite", default_value = "randread")]
    rw: ReadWrite,
    /// Percent of reads in randrw and rw
    #[arg(long, default_value_t = 50, value_parser = whole::<u8>)]
    rwmixread: u8,
    /// Bytes of an I/O; 4k:8k: jobs take the sizes in turn
    #[arg(long, alias = "blocksize", default_value = "4k")]
    bs: BlockSizes,
    /// I/Os in flight, each job
    #[arg(long, default_value_t = 1, value_parser = whole::<usize>)]
    iodepth: usize,
    /// Threads, each with a queue pair or a ring of its own
    #[arg(long, default_value_t = 1, value_parser = whole::<usize>)]
    numjobs: usize,
    /// Bytes of each device to use, from its start. With --verify jobs share them, otherwise each
    /// job uses all of them. Default: the whole namespace
    #[arg(long, value_parser = parse_size)]
    size: Option<u64>,
    /// Open loop: this many I/Os a second arrive at each job, by the clock; latency counts from
    /// the arrival
    #[arg(long = "rate_iops", alias = "rate-iops", value_parser = parse_count, group = "rate", conflicts_with = "thinktime")]
    rate_iops: Option<u64>,
    /// A load that changes, over and over: a list of RATE:TIME, as 20k:5s,2k:10s, each of them
    /// --rate_iops for so long; max:5s is a closed loop. The first begins with the ramp
    #[arg(
        long,
        value_name = "RATE:TIME",
        value_delimiter = ',',
        group = "rate",
        conflicts_with_all = ["rate_iops", "thinktime"]
    )]
    phases: Vec<PhaseFlag>,
    /// Open loop: between I/Os of --rate_iops and --phases passes the same time (linear), or they
    /// arrive at random with that rate (poisson)
    #[arg(
        long = "rate_process",
        alias = "rate-process",
        default_value = "linear",
        hide_default_value = true,
        requires = "rate"
    )]
    rate_process: RateProcess,
    /// Open loop: an I/O arrives this many microseconds after the one before (or 1ms)
    #[arg(long, value_parser = microseconds)]
    thinktime: Option<Nanos>,
    /// I/Os that arrive together, a burst each --thinktime
    #[arg(
        long = "thinktime_blocks",
        alias = "thinktime-blocks",
        requires = "thinktime",
        value_parser = whole::<u32>
    )]
    thinktime_blocks: Option<u32>,
    /// CPUs for the jobs' threads, one each in turn: 0,2-4
    #[arg(long = "cpus_allowed", alias = "cpus-allowed", value_parser = parse_cpus)]
    cpus_allowed: Option<Cpus>,
    #[command(flatten)]
    pub goal: GoalArgs,
    /// Seed of every random number
    #[arg(long, alias = "randseed", default_value_t = 1, value_parser = whole::<u64>)]
    pub seed: u64,
    /// Data on the devices may be lost: needed to write to any but an emulated device, or to
    /// a file with data
    #[arg(long)]
    pub allow_write: bool,
    /// Faults of emulated devices: a list of KIND[=PARAMETER][@WHEN] and seed=N, as
    /// drop@0.001 (of the commands), status=2/81@#100 (the 100th), cfs@2s. A wrong kind names all
    #[arg(
        long,
        value_name = "PLAN",
        default_value = "",
        hide_default_value = true
    )]
    pub faults: FaultPlan,
    /// Seconds (or 500ms) an I/O may take before it is aborted; as long again, and the controller
    /// is reset, as it is for an admin command that takes as long, or a second. As
    /// nvme_core.io_timeout
    #[arg(long = "io_timeout", alias = "io-timeout", default_value = "30", value_parser = timeout)]
    io_timeout: Nanos,
    /// How often an I/O that failed is sent again, if its status allows it or a reset ended it. As
    /// nvme_core.max_retries, but 0: what fails is counted
    #[arg(long = "max_retries", alias = "max-retries", default_value_t = 0, value_parser = whole::<u8>)]
    max_retries: u8,
}

/// The least time of an admin command: many of them are slower than any I/O.
const MIN_ADMIN_TIMEOUT: Nanos = Nanos::from_millis(1_000);

fn timeout(text: &str) -> Result<Nanos, String> {
    match seconds(text)? {
        Nanos(0..10_000_000) => Err(format!("'{text}' is too short: give at least 10ms")),
        time => Ok(time),
    }
}

/// How long to do it: each command has its own defaults.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// How long to run, the ramp not included.
    pub runtime: Option<Nanos>,
    /// I/Os of each job, the ramp's not counted.
    pub number_ios: Option<u64>,
    /// How long energy is counted for, if longer than the work.
    pub window: Option<Nanos>,
    /// How long to run before measuring.
    pub ramp_time: Nanos,
}

/// How I/Os of a rate arrive.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RateProcess {
    /// Equal intervals
    Linear,
    /// Random intervals, as of many clients that know nothing of each other
    Poisson,
}

#[derive(Clone, Debug)]
struct Cpus(Vec<usize>);

fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = text.parse::<u64>().ok().and_then(|n| n.try_into().ok());
    number.ok_or_else(|| format!("'{text}' is out of range: write a whole number, zero or above"))
}

/// `0,2-4`, as fio has it.
fn parse_cpus(text: &str) -> Result<Cpus, String> {
    let cpus = joulio_units::parse_cpus(text).unwrap_or_default();
    let cpus: Vec<_> = cpus.into_iter().map(|cpu| cpu as usize).collect();
    let unknown = |&cpu: &usize| cpu >= rustix::thread::CpuSet::MAX_CPU;
    if cpus.is_empty() || cpus.iter().any(unknown) {
        return Err(format!("'{text}' is not a list of CPUs: 0,2-4"));
    }
    Ok(Cpus(cpus))
}

/// Refuses CPUs that this process may not use.
fn check_cpus(cpus: &[usize]) -> Result<(), Failure> {
    if cpus.is_empty() {
        return Ok(());
    }
    let allowed = rustix::thread::sched_getaffinity(None).map_err(Failure::run)?;
    match cpus.iter().find(|&&cpu| !allowed.is_set(cpu)) {
        Some(cpu) => Err(Failure::input(format!(
            "--cpus_allowed: CPU {cpu} is not one that this process may use"
        ))),
        None => Ok(()),
    }
}

impl WorkArgs {
    /// The devices that the flags describe, and how to open them, with rings as `ring` says.
    pub fn targets(&self, ring: RingOptions) -> TargetOptions {
        TargetOptions {
            devices: self.device.clone(),
            seed: self.seed,
            allow_write: self.allow_write,
            faults: self.faults.clone(),
            controller: self.controller(),
            ring,
        }
    }

    fn controller(&self) -> ControllerOptions {
        ControllerOptions {
            io_timeout: self.io_timeout,
            admin_timeout: self.io_timeout.max(MIN_ADMIN_TIMEOUT),
            retries: self.max_retries,
            cancel: cancel(),
            ..ControllerOptions::default()
        }
    }

    /// The job that the flags describe, for `length`, its data checked as `verify` says.
    pub fn job(&self, length: Length, verify: Verify) -> Result<Job, Failure> {
        let job = self.job_anywhere(length, verify)?;
        check_cpus(&job.cpus_allowed)?;
        Ok(job)
    }

    /// The same for whatever machine: its CPUs are not searched on this one.
    pub fn job_anywhere(&self, length: Length, verify: Verify) -> Result<Job, Failure> {
        let job = Job {
            rw: self.rw,
            rwmixread: self.rwmixread,
            bs: self.bs.clone(),
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            kind: JobKind::Thread,
            size: self.size,
            runtime: length.runtime,
            number_ios: length.number_ios,
            window: length.window,
            ramp_time: length.ramp_time,
            arrivals: self.arrivals()?,
            phases: self.phases()?,
            cpus_allowed: self
                .cpus_allowed
                .clone()
                .map(|cpus| cpus.0)
                .unwrap_or_default(),
            verify,
            seed: self.seed,
            goal: self.goal.goal(),
        };
        job.check().map_err(Failure::input)?;
        if self.device.len() > job.numjobs && self.device.len() > 1 {
            return Err(Failure::input(format!(
                "--numjobs: {} devices and {} jobs: each device needs at least one job",
                self.device.len(),
                job.numjobs
            )));
        }
        Ok(job)
    }

    /// Arrivals of `rate` I/Os a second, which is above zero.
    fn at_rate(&self, rate: u64) -> Arrivals {
        let interval = Nanos(1_000_000_000 / rate);
        match self.rate_process {
            RateProcess::Linear => Arrivals::Every(interval),
            RateProcess::Poisson => Arrivals::Poisson(interval),
        }
    }

    /// The phases of a load that changes; none of one that does not.
    fn phases(&self) -> Result<Vec<Phase>, Failure> {
        if self.phases.is_empty() {
            return Ok(Vec::new());
        }
        if self.bs.count() > 1 {
            return Err(Failure::input(
                "--phases: jobs of several sizes have no phases: give one --bs",
            ));
        }
        let bs = u32::try_from(self.bs.of_job(0));
        let bs = bs.map_err(|_| Failure::input("--bs: must be below 4 GiB"))?;
        let read_percent = self.rw.read_percent(self.rwmixread);
        let phases = self.phases.iter().map(|flag| Phase {
            length: flag.length,
            load: Load {
                read_percent,
                bs,
                arrivals: flag
                    .rate
                    .map_or(Arrivals::Closed, |rate| self.at_rate(rate)),
            },
        });
        Ok(phases.collect())
    }

    fn arrivals(&self) -> Result<Arrivals, Failure> {
        Ok(match (self.rate_iops, self.thinktime) {
            (Some(0), _) => return Err(Failure::input("--rate_iops: must be above zero")),
            (Some(rate), _) => self.at_rate(rate),
            (None, Some(Nanos::ZERO)) => {
                return Err(Failure::input("--thinktime: must be above zero"));
            }
            (None, Some(interval)) => match self.thinktime_blocks {
                None | Some(1) => Arrivals::Every(interval),
                Some(0) => return Err(Failure::input("--thinktime_blocks: must be above zero")),
                Some(ios) => Arrivals::Bursts {
                    ios,
                    every: interval,
                },
            },
            (None, None) => Arrivals::Closed,
        })
    }
}
