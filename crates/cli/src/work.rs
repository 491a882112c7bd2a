//! Workload flags of every command that does I/O, spelled as in fio.

use crate::Outcome;
use crate::failure::Failure;
use crate::goal::GoalArgs;
use crate::signals::cancel;
use crate::times::{microseconds, seconds};
use joulio_emulator::FaultPlan;
use joulio_lab::arbitration::parse_arbitration;
use joulio_lab::experiment::{self, RatePhase, WorkloadOptions};
use joulio_lab::sweep::{Axes, ComparedDevices, DeviceSet, Factor, FactorError};
use joulio_lab::{TargetName, TargetOptions};
use joulio_nvme_spec::feature::Arbitration;
use joulio_units::Nanos;
use joulio_workload::{
    BlockSizes, QueuePriorities, RandomDistribution, ReadWrite, RingOptions, parse_count,
    parse_size,
};
use std::fmt::{self, Display, Formatter};

/// Flags that fio has mean what they mean there.
#[derive(clap::Args)]
#[command(next_help_heading = "Workload")]
pub struct WorkArgs {
    /// Device. joulio's own driver: emulated:PROFILE (options: ,file=PATH ,size=BYTES ,lba=512|4096 ,seed=N
    /// ,hmb=BYTES ,prealloc=1 ,count=N), pcie:ADDRESS[,nsid=N][,noiommu] or vfio-user:SOCKET[,nsid=N]. The kernel's
    /// drivers: the path of a block device or file. Short forms: optane-900p, nvme0n1, disk.img. Repeatable: jobs are
    /// spread over the devices; with fewer jobs than devices a job has several, which must be of one kind and driven by
    /// joulio, and waits for them together. count=7 makes seven equal ones. A+B compares: one run on A, one on B (bench
    /// only)
    #[arg(long, default_value = "emulated:optane-900p")]
    device: Vec<ComparedDevices>,
    /// read, write, randread, randwrite, randrw, rw; trim, randtrim (Deallocate, discard, or a hole in a file);
    /// trimwrite, randtrimwrite (trim each block, then write it). bench takes a list
    #[arg(
        long,
        alias = "readwrite",
        default_value = "randread",
        value_delimiter = ','
    )]
    rw: Vec<ReadWrite>,
    /// Percentage of reads in randrw and rw. bench takes a list
    #[arg(long, default_value = "50", value_parser = whole::<u8>, value_delimiter = ',')]
    rwmixread: Vec<u8>,
    /// Block size in bytes. 4k:8k: sizes for the jobs in turn. Random sizes: 4k/60:8k/40 with percentages (as
    /// --bssplit), 4k-64k any multiple of 4k in the range (as --bsrange). bench takes a list
    #[arg(long, aliases = ["blocksize", "bssplit", "bsrange"], default_value = "4k", value_delimiter = ',')]
    bs: Vec<BlockSizes>,
    /// Priority class of the jobs' queues: urgent, high, medium or low. high:low: classes for the jobs in turn. Needs
    /// a controller with weighted round robin, driven by joulio. bench takes a list, in which none means no class
    #[arg(long = "queue_priority", value_name = "CLASS", value_delimiter = ',', value_parser = classes)]
    queue_priority: Vec<String>,
    /// Weights of the classes high, medium and low, 1 to 256 commands a round each, and optionally the arbitration
    /// burst, the most commands taken from one queue at once: 8,4,1 or 8,4,1,16. Sets feature 01h while the run has
    /// the controller. Default: 8,4,1 without a limit
    #[arg(long, value_name = "HIGH,MEDIUM,LOW[,BURST]", value_parser = parse_arbitration, requires = "queue_priority")]
    arbitration: Option<Arbitration>,
    /// I/Os that each job keeps in flight on each of its devices. bench takes a list
    #[arg(long, default_value = "1", value_parser = whole::<usize>, value_delimiter = ',')]
    iodepth: Vec<usize>,
    /// Number of jobs. Each is a thread with its own queue pair on each of its devices, or its own ring. bench takes
    /// a list
    #[arg(long, default_value = "1", value_parser = whole::<usize>, value_delimiter = ',')]
    numjobs: Vec<usize>,
    /// Distribution of random offsets, as in fio: random (uniform), zipf:THETA, pareto:H, normal:PERCENT,
    /// zoned:60/10:40/90 (60 percent of the I/Os in the first 10 percent of the area, 40 in the rest), or
    /// zoned_abs:60/20G:40/80G (the same in bytes)
    #[arg(
        long = "random_distribution",
        default_value_t,
        hide_default_value = true
    )]
    random_distribution: RandomDistribution,
    /// Alignment of random offsets in bytes, counted from --offset. Default: the block size
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    blockalign: Option<u64>,
    /// Offset in bytes of the first block to use on each device; a multiple of --bs
    #[arg(long, default_value = "0", hide_default_value = true, value_parser = parse_size)]
    offset: u64,
    /// Bytes to use on each device, from --offset. With --verify the jobs divide them, otherwise every job uses all
    /// of them. Default: the whole namespace
    #[arg(long, value_parser = parse_size)]
    size: Option<u64>,
    /// Open loop: I/Os per second that arrive at each job for each of its devices. Latency counts from the arrival.
    /// bench takes a list, in which max means a closed loop
    #[arg(long = "rate_iops", value_parser = rate, group = "rate", conflicts_with_all = ["thinktime", "bursts"], value_delimiter = ',')]
    rate_iops: Vec<Rate>,
    /// A load that changes, repeated: a list of RATE:TIME, such as 20k:5s,2k:10s. Each rate is as --rate_iops, for
    /// that time; max:5s is a closed loop. The first phase starts with the ramp
    #[arg(
        long,
        value_name = "RATE:TIME",
        value_delimiter = ',',
        group = "rate",
        conflicts_with_all = ["rate_iops", "thinktime", "bursts"]
    )]
    phases: Vec<RatePhase>,
    /// Open loop: arrivals of --rate_iops and --phases come at equal intervals (linear) or at random (poisson)
    #[arg(
        long = "rate_process",
        default_value = "linear",
        hide_default_value = true,
        requires = "rate"
    )]
    rate_process: RateProcess,
    /// Open loop: a burst of IOS I/Os arrives every TIME (microseconds, or with a unit): 16:1ms
    #[arg(long, value_name = "IOS:TIME", value_parser = bursts, conflicts_with = "thinktime")]
    bursts: Option<(u32, Nanos)>,
    /// Pause in microseconds (or with a unit: 1ms) after I/Os have completed, with nothing in flight; 0: none. The
    /// job waits for its end in its completion mode, so that a polling job spins
    #[arg(long, value_parser = microseconds)]
    thinktime: Option<Nanos>,
    /// Number of I/Os between two pauses of --thinktime. Default: 1
    #[arg(
        long = "thinktime_blocks",
        requires = "thinktime",
        value_parser = whole::<u32>
    )]
    thinktime_blocks: Option<u32>,
    /// CPUs for the jobs' threads, one for each job in turn: 0,2-4
    #[arg(long = "cpus_allowed", value_parser = parse_cpus)]
    cpus_allowed: Option<Cpus>,
    /// NUMA node of the jobs' memory and, unless --cpus_allowed is given, of their CPUs
    #[arg(long, value_name = "NODE", value_parser = whole::<u32>)]
    numa: Option<u32>,
    #[command(flatten)]
    pub goal: GoalArgs,
    /// Seed of all random numbers
    #[arg(long, alias = "randseed", default_value_t = 1, value_parser = whole::<u64>)]
    pub seed: u64,
    /// Allow writes that may destroy data: needed to write to a real device or to a file that holds data
    #[arg(long)]
    pub allow_write: bool,
    /// Faults to inject into emulated devices: a list of KIND[=PARAMETER][@WHEN] and seed=N, such as drop@0.001 (a
    /// fraction of the commands), status=2/81@#100 (the 100th command), cfs@2s. An unknown kind prints all kinds
    #[arg(
        long,
        value_name = "PLAN",
        default_value = "",
        hide_default_value = true
    )]
    pub faults: FaultPlan,
    /// Timeout of an I/O in seconds (or with a unit: 500ms), as nvme_core.io_timeout. After it the command is
    /// aborted; after the same time again the controller is reset. Admin commands have this timeout or a second,
    /// whichever is longer
    #[arg(long = "io_timeout", default_value = "30", value_parser = timeout)]
    io_timeout: Nanos,
    /// How often to retry a failed I/O, if its status allows a retry or a reset ended it, as nvme_core.max_retries.
    /// The default is 0, so that failures are counted
    #[arg(long = "max_retries", default_value_t = 0, value_parser = whole::<u8>)]
    max_retries: u8,
}

fn timeout(text: &str) -> Result<Nanos, String> {
    match seconds(text)? {
        Nanos(0..10_000_000) => Err(format!("'{text}' is too short: give at least 10ms")),
        time => Ok(time),
    }
}

/// Arrival process of the I/Os of a rate.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RateProcess {
    /// Equal intervals
    Linear,
    /// Random intervals, as from many independent clients
    Poisson,
}

#[derive(Clone, Debug)]
struct Cpus(Vec<usize>);

/// A value of `--rate_iops`; `None`: a closed loop.
#[derive(Clone, Copy, Debug)]
struct Rate(Option<u64>);

fn rate(text: &str) -> Result<Rate, String> {
    match text {
        "max" => Ok(Rate(None)),
        _ => parse_count(text)
            .map(|rate| Rate(Some(rate)))
            .map_err(|error| error.to_string()),
    }
}

impl Display for Rate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rate) => write!(f, "{rate}"),
            None => f.write_str("max"),
        }
    }
}

/// Parses bursts: `16:1ms`.
fn bursts(text: &str) -> Result<(u32, Nanos), String> {
    let (ios, every) = text.split_once(':').ok_or_else(|| {
        format!("'{text}' is not a burst: write I/Os and the time between bursts, 16:1ms")
    })?;
    Ok((whole(ios)?, microseconds(every)?))
}

fn texts<T: Display>(values: &[T]) -> Vec<String> {
    values.iter().map(T::to_string).collect()
}

/// Parses a whole number, zero or above.
pub fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = text
        .parse::<u64>()
        .map_err(|_| format!("'{text}' is no whole number, zero or above"))?;
    number
        .try_into()
        .map_err(|_| format!("'{text}' is out of range: write a smaller number"))
}

/// Parses CPUs in fio's notation: `0,2-4`.
fn parse_cpus(text: &str) -> Result<Cpus, String> {
    let cpus = joulio_units::parse_cpus(text).unwrap_or_default();
    let cpus: Vec<_> = cpus.into_iter().map(|cpu| cpu as usize).collect();
    let most = rustix::thread::CpuSet::MAX_CPU - 1;
    if cpus.is_empty() || cpus.iter().any(|cpu| *cpu > most) {
        return Err(format!(
            "'{text}' is not a list of CPUs from 0 to {most}, as 0,2-4"
        ));
    }
    Ok(Cpus(cpus))
}

/// Checks the priority classes of a run; `none` stands for no classes.
fn classes(text: &str) -> Result<String, String> {
    match text {
        "none" => Ok(text.into()),
        _ => text
            .parse::<QueuePriorities>()
            .map(|classes| classes.to_string())
            .map_err(|error| error.to_string()),
    }
}

impl WorkArgs {
    /// Returns the devices one by one; of lists, the first value counts.
    fn devices(&self) -> Vec<TargetName> {
        let first = DeviceSet::of_flags(&self.device).into_iter().next();
        first.map(|set| set.targets()).unwrap_or_default()
    }

    /// Returns an error for lists in a command that runs one workload on one set of devices.
    pub fn check_single(&self) -> Outcome {
        let lists = [
            ("--device", DeviceSet::of_flags(&self.device).len()),
            ("--rw", self.rw.len()),
            ("--rwmixread", self.rwmixread.len()),
            ("--bs", self.bs.len()),
            ("--iodepth", self.iodepth.len()),
            ("--numjobs", self.numjobs.len()),
            ("--rate_iops", self.rate_iops.len()),
        ];
        match lists.into_iter().find(|(_, values)| *values > 1) {
            Some((flag, _)) => Err(Failure::input(format!(
                "{flag}: only joulio bench takes a list: give one value"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the lists of devices and of the workload's factors.
    pub fn axes(&self) -> Result<Axes, FactorError> {
        let mut axes = Axes::default();
        let mut set = |factor, values: Vec<String>| match values.is_empty() {
            true => Ok(()),
            false => axes.set(factor, values),
        };
        set(Factor::Device, texts(&DeviceSet::of_flags(&self.device)))?;
        set(Factor::Rw, texts(&self.rw))?;
        set(Factor::RwMixRead, texts(&self.rwmixread))?;
        set(Factor::Bs, texts(&self.bs))?;
        set(Factor::QueuePriority, self.queue_priority.clone())?;
        set(Factor::IoDepth, texts(&self.iodepth))?;
        set(Factor::NumJobs, texts(&self.numjobs))?;
        set(Factor::RateIops, texts(&self.rate_iops))?;
        let think = self.thinktime.map(|time| format!("{}ns", time.0));
        set(Factor::ThinkTime, think.into_iter().collect())?;
        Ok(axes)
    }

    /// Returns the devices that the flags describe, with the options for opening them and the given `ring`; of lists,
    /// the first value counts.
    pub fn targets(&self, ring: RingOptions) -> TargetOptions {
        TargetOptions {
            devices: self.devices(),
            allow_write: self.allow_write,
            faults: self.faults.clone(),
            io_timeout: Some(self.io_timeout),
            max_retries: self.max_retries,
            arbitration: self.arbitration,
            ring,
            cancel: cancel(),
        }
    }

    /// Returns the workload that the flags describe, without its length; of lists, the first value counts.
    pub fn workload(&self) -> WorkloadOptions {
        let cpus = self.cpus_allowed.clone();
        let usual = WorkloadOptions::default();
        WorkloadOptions {
            rw: self.rw.first().copied().unwrap_or(usual.rw),
            rwmixread: self.rwmixread.first().copied().unwrap_or(usual.rwmixread),
            bs: self.bs.first().cloned().unwrap_or(usual.bs),
            iodepth: self.iodepth.first().copied().unwrap_or(usual.iodepth),
            queue_priority: self
                .queue_priority
                .first()
                .and_then(|text| text.parse().ok()),
            numjobs: self.numjobs.first().copied().unwrap_or(usual.numjobs),
            random_distribution: self.random_distribution.clone(),
            block_align: self.blockalign,
            offset: self.offset,
            size: self.size,
            rate_iops: self.rate_iops.first().and_then(|rate| rate.0),
            rate_process: match self.rate_process {
                RateProcess::Linear => experiment::RateProcess::Linear,
                RateProcess::Poisson => experiment::RateProcess::Poisson,
            },
            phases: self.phases.clone(),
            thinktime: self.thinktime,
            thinktime_blocks: self.thinktime_blocks,
            bursts: self.bursts,
            cpus_allowed: cpus.map(|cpus| cpus.0).unwrap_or_default(),
            numa_node: self.numa,
            seed: self.seed,
            goal: self.goal.options(),
            ..WorkloadOptions::default()
        }
    }
}
