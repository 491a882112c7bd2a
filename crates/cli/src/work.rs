//! Flags of every command that does I/O, in fio's words and spellings.

use crate::goal::GoalArgs;
use crate::signals::cancel;
use crate::times::{microseconds, seconds};
use joulio_emulator::FaultPlan;
use joulio_lab::experiment::{self, RatePhase, WorkloadOptions};
use joulio_lab::{TargetName, TargetNames, TargetOptions};
use joulio_units::Nanos;
use joulio_workload::{BlockSizes, ReadWrite, RingOptions, parse_count, parse_size};

/// Flags that fio has mean what they mean there.
#[derive(clap::Args)]
pub struct WorkArgs {
    /// Device: emulated:PROFILE[,file=PATH][,size=BYTES][,lba=512|4096][,seed=N][,count=N] or
    /// pcie:ADDRESS[,nsid=N] or vfio-user:SOCKET[,nsid=N], which joulio drives, or the path of a
    /// block device or file, which the kernel drives. Repeatable: jobs are spread over devices; of
    /// fewer jobs than devices each has several, of joulio's own driver and of one kind, and waits
    /// for them together. count=7: seven equal ones
    #[arg(long, default_value = "emulated:optane-900p")]
    pub device: Vec<TargetNames>,
    /// read, write, randread, randwrite, randrw or rw
    #[arg(long, alias = "readwrite", default_value = "randread")]
    rw: ReadWrite,
    /// Percent of reads in randrw and rw
    #[arg(long, default_value_t = 50, value_parser = whole::<u8>)]
    rwmixread: u8,
    /// Bytes of an I/O; 4k:8k: jobs take the sizes in turn
    #[arg(long, alias = "blocksize", default_value = "4k")]
    bs: BlockSizes,
    /// I/Os in flight, each job on each of its devices
    #[arg(long, default_value_t = 1, value_parser = whole::<usize>)]
    iodepth: usize,
    /// Threads, each with a queue pair on each of its devices, or a ring, of its own
    #[arg(long, default_value_t = 1, value_parser = whole::<usize>)]
    numjobs: usize,
    /// Bytes of each device to use, from its start. With --verify jobs share them, otherwise each
    /// job uses all of them. Default: the whole namespace
    #[arg(long, value_parser = parse_size)]
    size: Option<u64>,
    /// Open loop: this many I/Os a second arrive at each job, for each of its devices, by the clock;
    /// latency counts from the arrival
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
    phases: Vec<RatePhase>,
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

fn timeout(text: &str) -> Result<Nanos, String> {
    match seconds(text)? {
        Nanos(0..10_000_000) => Err(format!("'{text}' is too short: give at least 10ms")),
        time => Ok(time),
    }
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

impl WorkArgs {
    /// The devices, each by itself.
    pub fn devices(&self) -> Vec<TargetName> {
        let devices = self.device.iter();
        devices.flat_map(|one| one.names()).cloned().collect()
    }

    /// The devices that the flags describe, and how to open them, with rings as `ring` says.
    pub fn targets(&self, ring: RingOptions) -> TargetOptions {
        TargetOptions {
            devices: self.devices(),
            allow_write: self.allow_write,
            faults: self.faults.clone(),
            io_timeout: Some(self.io_timeout),
            max_retries: self.max_retries,
            ring,
            cancel: cancel(),
        }
    }

    /// The workload that the flags describe, its length aside.
    pub fn workload(&self) -> WorkloadOptions {
        let cpus = self.cpus_allowed.clone();
        WorkloadOptions {
            rw: self.rw,
            rwmixread: self.rwmixread,
            bs: self.bs.clone(),
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            size: self.size,
            rate_iops: self.rate_iops,
            rate_process: match self.rate_process {
                RateProcess::Linear => experiment::RateProcess::Linear,
                RateProcess::Poisson => experiment::RateProcess::Poisson,
            },
            phases: self.phases.clone(),
            thinktime: self.thinktime,
            thinktime_blocks: self.thinktime_blocks,
            cpus_allowed: cpus.map(|cpus| cpus.0).unwrap_or_default(),
            seed: self.seed,
            goal: self.goal.options(),
            ..WorkloadOptions::default()
        }
    }
}
