//! The flags of `joulio twin grid`.

use crate::output::Output;
use crate::times::seconds;
use clap::ValueEnum;
use joulio_lab::grid::GridOptions;
use joulio_twin::grid::{GridAxes, GridSweep, LoadKind};
use joulio_units::{Nanos, Slo};
use joulio_workload::{parse_count, parse_size, parse_slo};
use std::path::PathBuf;

/// I/Os of each run: so many that a 99.9th percentile is no accident.
const FULL: u64 = 200_000;
/// And those of the sample, which is done in four minutes of a core.
const SAMPLE: u64 = 40_000;

/// `--output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GridFormat {
    /// For people.
    #[default]
    #[value(alias = "table")]
    Normal,
    /// For programs.
    Json,
    /// A line for each policy in each cell.
    Csv,
}

/// Flags that fio has mean what they mean there, and take lists.
#[derive(clap::Args)]
pub struct GridArgs {
    /// The machine: a name, or a path to a .toml file, as joulio calibrate writes it. Default: the
    /// one that fits this processor, or a generic server
    #[arg(long)]
    machine: Option<String>,
    /// 700 cells, always the same: 4 KiB reads on one CPU; fewer where the machine's watts are not
    /// of the wall
    #[arg(long)]
    sample: bool,
    /// Device profiles, a list: names, or paths to .toml files
    #[arg(long, value_delimiter = ',')]
    device: Vec<String>,
    /// I/Os in flight, each job, a list
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=4095))]
    iodepth: Vec<u64>,
    /// Jobs, a list; of shared-2 the CPUs
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=256))]
    numjobs: Vec<u64>,
    /// Bytes of an I/O, a list
    #[arg(long, value_delimiter = ',', value_parser = size)]
    bs: Vec<u32>,
    /// Percent of reads, a list
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=100))]
    rwmixread: Vec<u8>,
    /// When I/Os come, a list: closed, open-40 (at random, 40 % of what the closed loop does by
    /// polling), bursty, phases, shared-2 (closed, so many jobs on each CPU), beside-compute (closed,
    /// beside a thread that always has work)
    #[arg(long, value_delimiter = ',')]
    load: Vec<LoadKind>,
    /// The promise: latencies that percentiles may not exceed, as p99=15us,p99.9=40us; a time alone
    /// is the 99th's. Default: polling's p99 and p99.9 and a hundredth, and where CPUs are shared
    /// those of interrupts if their p99.9 is lower
    #[arg(long, value_parser = parse_slo)]
    slo: Option<Slo>,
    /// I/Os of each run, of all jobs (or 10k). Default: 200k, of the sample 40k
    #[arg(long = "number_ios", value_parser = ios)]
    number_ios: Option<u64>,
    /// Seconds (or 110ms) of virtual time to run before measuring. Default: 110ms, in which hybrid
    /// has learnt how long to sleep
    #[arg(long = "ramp_time", value_parser = seconds)]
    ramp_time: Option<Nanos>,
    /// Seed of every random number
    #[arg(long, alias = "randseed", default_value_t = 1)]
    seed: u64,
    /// Seeds, the first and those after it: the best has the least joules on average, and ties with who
    /// is the best with some of them. Default: 1, of the sample 3
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=30))]
    replicates: Option<u32>,
    /// Compare this policy with each other, cell by cell: where it keeps the promise, and its joules over
    /// the other's
    #[arg(long, value_name = "POLICY", conflicts_with = "output_format")]
    pub compare: Option<String>,
    /// Keep what is done in this file, and go on from there when it is; also for a part of a grid
    /// that it holds
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Threads that simulate. Default: 1
    #[arg(long, default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: u64,
    /// Draw the maps of the best policies to this file, 36 at most; it must not be there, or be
    /// one to overwrite by --force
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Overwrite the file of the maps
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub output: Output<GridFormat>,
}

fn size(text: &str) -> Result<u32, String> {
    let bytes = parse_size(text)?;
    let bytes = u32::try_from(bytes).ok().filter(|&bytes| bytes > 0);
    bytes.ok_or_else(|| format!("'{text}' is out of range: 1 byte to 4 GiB"))
}

fn ios(text: &str) -> Result<u64, String> {
    match parse_count(text)? {
        0..1_000 => Err(format!(
            "'{text}' is too few for a 99.9th percentile: give at least 1000"
        )),
        count => Ok(count),
    }
}

impl GridArgs {
    /// The grid that the flags describe.
    pub fn options(&self) -> GridOptions {
        let default = if self.sample { SAMPLE } else { FULL };
        GridOptions {
            machine: self.machine.clone(),
            axes: self.axes(),
            number_ios: self.number_ios.unwrap_or(default),
            ramp_time: self.ramp_time.unwrap_or(GridSweep::RAMP),
            slo: self.slo,
            seed: self.seed,
            replicates: self.replicates.unwrap_or(if self.sample { 3 } else { 1 }),
        }
    }

    fn axes(&self) -> GridAxes {
        let axes = if self.sample {
            GridAxes::sample()
        } else {
            GridAxes::full()
        };
        let whole = |list: &[u64]| list.iter().map(|&n| n as usize).collect();
        GridAxes {
            devices: or(self.device.clone(), axes.devices),
            iodepths: or(whole(&self.iodepth), axes.iodepths),
            numjobs: or(whole(&self.numjobs), axes.numjobs),
            sizes: or(self.bs.clone(), axes.sizes),
            reads: or(self.rwmixread.clone(), axes.reads),
            loads: or(self.load.clone(), axes.loads),
            views: axes.views,
        }
    }

    /// A value that a list has twice, with its flag: its cells would be one and the same.
    pub fn doubled(&self) -> Option<(&'static str, String)> {
        let lists = [
            ("--device", again(&self.device)),
            ("--iodepth", again(&self.iodepth)),
            ("--numjobs", again(&self.numjobs)),
            ("--bs", again(&self.bs)),
            ("--rwmixread", again(&self.rwmixread)),
            ("--load", again(&self.load)),
        ];
        lists
            .into_iter()
            .find_map(|(flag, value)| Some((flag, value?)))
    }

    /// Number of threads that simulate.
    pub fn threads(&self) -> usize {
        self.threads as usize
    }
}

/// The first of `list` that is there before, as it is written.
fn again<T: PartialEq + ToString>(list: &[T]) -> Option<String> {
    let again = |&at: &usize| list[..at].contains(&list[at]);
    (0..list.len()).find(again).map(|at| list[at].to_string())
}

fn or<T>(given: Vec<T>, default: Vec<T>) -> Vec<T> {
    if given.is_empty() { default } else { given }
}
