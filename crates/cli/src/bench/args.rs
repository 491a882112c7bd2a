//! The flags of `joulio bench`: fio's words and spellings.

use crate::device::DeviceName;
use crate::failure::Failure;
use crate::output::Format;
use joulio_model::MachineProfile;
use joulio_units::Nanos;
use joulio_workload::{Arrivals, Job, ReadWrite, Verify, Way, parse_count, parse_size, parse_time};

/// How long a run is when neither --runtime nor --number_ios says.
const RUNTIME: Nanos = Nanos::from_millis(5_000);
/// And how long it warms up before that.
const RAMP: Nanos = Nanos::from_millis(1_000);

/// Flags that fio has mean what they mean there.
#[derive(clap::Args)]
pub struct Args {
    /// Device: emulated:PROFILE[,file=PATH][,size=BYTES][,lba=512|4096][,seed=N] or
    /// pcie:ADDRESS[,nsid=N] or vfio-user:SOCKET[,nsid=N]. Repeatable: jobs are spread over
    /// devices
    #[arg(long, default_value = "emulated:optane-900p")]
    pub device: Vec<DeviceName>,
    /// Ways of waiting, a list: poll, interrupt, hybrid (sleep half the mean time, then poll),
    /// hybrid=4us (sleep that long). Default: all without a parameter
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "poll,interrupt,hybrid",
        hide_default_value = true
    )]
    pub completion: Vec<Way>,
    /// read, write, randread, randwrite, randrw or rw
    #[arg(long, alias = "readwrite", default_value = "randread")]
    rw: ReadWrite,
    /// Percent of reads in randrw and rw
    #[arg(long, default_value_t = 50, value_parser = whole::<u8>)]
    rwmixread: u8,
    /// Bytes of an I/O
    #[arg(long, alias = "blocksize", default_value = "4k", value_parser = parse_size)]
    bs: u64,
    /// I/Os in flight, each job
    #[arg(long, default_value_t = 1, value_parser = whole::<usize>)]
    iodepth: usize,
    /// Threads, each with a queue pair of its own
    #[arg(long, default_value_t = 1, value_parser = whole::<usize>)]
    numjobs: usize,
    /// Bytes of each device to use, from its start. With --verify jobs share them, otherwise each
    /// job uses all of them. Default: the whole namespace
    #[arg(long, value_parser = parse_size)]
    size: Option<u64>,
    /// Seconds to measure (or 500ms, 2m). Default: 5, unless --number_ios is given
    #[arg(long, value_parser = seconds)]
    runtime: Option<Nanos>,
    /// I/Os of each job (or 10k, 1M)
    #[arg(long = "number_ios", alias = "number-ios", value_parser = parse_count)]
    number_ios: Option<u64>,
    /// Seconds to run before measuring. Default: 1, unless --number_ios is given
    #[arg(long = "ramp_time", alias = "ramp-time", value_parser = seconds)]
    ramp_time: Option<Nanos>,
    /// Open loop: this many I/Os a second arrive at each job, by the clock; latency counts from
    /// the arrival
    #[arg(long = "rate_iops", alias = "rate-iops", value_parser = parse_count, conflicts_with = "thinktime")]
    rate_iops: Option<u64>,
    /// Open loop: an I/O arrives this many microseconds after the one before (or 1ms)
    #[arg(long, value_parser = microseconds)]
    thinktime: Option<Nanos>,
    /// CPUs for the jobs' threads, one each in turn: 0,2-4
    #[arg(long = "cpus_allowed", alias = "cpus-allowed", value_parser = parse_cpus)]
    cpus_allowed: Option<Cpus>,
    /// none or crc32c: every block says where and when it was written. Blocks that are read are
    /// written once before the run; what was written is read back after it
    #[arg(long, default_value = "none", hide_default_value = true)]
    verify: Verify,
    /// Where every random number comes from
    #[arg(long, alias = "randseed", default_value_t = 1, value_parser = whole::<u64>)]
    pub seed: u64,
    /// Data on the devices may be lost: needed to write to a pcie or vfio-user device, or to a file
    /// with data
    #[arg(long)]
    pub allow_write: bool,
    /// The machine whose watts the energy model uses: a name, or a path to a .toml file
    #[arg(long, default_value = MachineProfile::DEFAULT)]
    pub machine: String,
    /// normal or json
    #[arg(long, alias = "output-format", value_enum, default_value = "normal")]
    pub output: Format,
}

#[derive(Clone, Debug)]
struct Cpus(Vec<usize>);

fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = text.parse::<u64>().ok().and_then(|n| n.try_into().ok());
    number.ok_or_else(|| format!("'{text}' is out of range: write a whole number, zero or above"))
}

fn seconds(text: &str) -> Result<Nanos, String> {
    parse_time(text, 1_000_000_000).map(Nanos)
}

fn microseconds(text: &str) -> Result<Nanos, String> {
    parse_time(text, 1_000).map(Nanos)
}

/// `0,2-4`, as fio has it. Each must be a CPU that this process may use.
fn parse_cpus(text: &str) -> Result<Cpus, String> {
    let wrong = || format!("'{text}' is not a list of CPUs: 0,2-4");
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let low: usize = low.trim().parse().map_err(|_| wrong())?;
        let high: usize = high.trim().parse().map_err(|_| wrong())?;
        if low > high || high >= rustix::thread::CpuSet::MAX_CPU {
            return Err(wrong());
        }
        cpus.extend(low..=high);
    }
    let allowed = rustix::thread::sched_getaffinity(None).map_err(|e| e.to_string())?;
    match cpus.iter().find(|&&cpu| !allowed.is_set(cpu)) {
        Some(cpu) => Err(format!("CPU {cpu} is not one that this process may use")),
        None => Ok(Cpus(cpus)),
    }
}

impl Args {
    /// The job that the flags describe.
    pub fn job(&self) -> Result<Job, Failure> {
        let by_time = self.number_ios.is_none();
        let arrivals = match (self.rate_iops, self.thinktime) {
            (Some(0), _) => return Err(Failure::input("--rate_iops: must be above zero")),
            (Some(rate), _) => Arrivals::Every(Nanos(1_000_000_000 / rate)),
            (None, Some(Nanos::ZERO)) => {
                return Err(Failure::input("--thinktime: must be above zero"));
            }
            (None, Some(interval)) => Arrivals::Every(interval),
            (None, None) => Arrivals::Closed,
        };
        let job = Job {
            rw: self.rw,
            rwmixread: self.rwmixread,
            bs: self.bs,
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            size: self.size,
            runtime: self.runtime.or(by_time.then_some(RUNTIME)),
            number_ios: self.number_ios,
            ramp_time: self
                .ramp_time
                .unwrap_or(if by_time { RAMP } else { Nanos::ZERO }),
            arrivals,
            cpus_allowed: self
                .cpus_allowed
                .clone()
                .map(|cpus| cpus.0)
                .unwrap_or_default(),
            verify: self.verify,
            seed: self.seed,
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
}
