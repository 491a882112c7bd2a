//! Flags of `joulio twin grid`.

use crate::output::Output;
use crate::times::seconds;
use clap::ValueEnum;
use joulio_lab::grid::GridOptions;
use joulio_twin::grid::{GridAxes, GridSweep, LoadKind};
use joulio_units::{Nanos, Slo};
use joulio_workload::{parse_count, parse_size, parse_slo};
use std::path::PathBuf;

/// I/Os of each run: enough for a stable 99.9th percentile.
const FULL: u64 = 200_000;
/// I/Os of each run of the sample, which takes four minutes of one core.
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
    /// Machine profile: a name, or a path to a .toml file of joulio calibrate. Default: the profile of this
    /// processor, or a generic server
    #[arg(long)]
    machine: Option<String>,
    /// A fixed sample of 700 cells: 4 KiB reads on one CPU; fewer if the machine's profile has no watts for the wall
    #[arg(long)]
    sample: bool,
    /// Device profiles, a list: names, or paths to .toml files
    #[arg(long, value_delimiter = ',')]
    device: Vec<String>,
    /// I/Os in flight of each job, a list
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=4095))]
    iodepth: Vec<u64>,
    /// Numbers of jobs, a list; for shared-2 numbers of CPUs
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=256))]
    numjobs: Vec<u64>,
    /// Block sizes in bytes, a list
    #[arg(long, value_delimiter = ',', value_parser = size)]
    bs: Vec<u32>,
    /// Percentages of reads, a list
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=100))]
    rwmixread: Vec<u8>,
    /// Arrivals of I/Os, a list: closed, open-40 (at random, at 40 % of the rate of polling in a closed loop),
    /// bursty, phases, shared-2 (closed, with that many jobs on each CPU), beside-compute (closed, beside a thread
    /// that always computes)
    #[arg(long, value_delimiter = ',')]
    load: Vec<LoadKind>,
    /// Promise: limits for percentiles of the latency, such as p99=15us,p99.9=40us; a time alone limits p99. Default:
    /// p99 and p99.9 of polling plus 1 %, or on shared CPUs those of interrupts if their p99.9 is lower
    #[arg(long, value_parser = parse_slo)]
    slo: Option<Slo>,
    /// I/Os of each run, over all jobs (10k). Default: 200k, with --sample 40k
    #[arg(long = "number_ios", value_parser = ios)]
    number_ios: Option<u64>,
    /// Virtual time to run before the measurement, in seconds (or 110ms). Default: 110ms, in which hybrid has learnt
    /// how long to sleep
    #[arg(long = "ramp_time", value_parser = seconds)]
    ramp_time: Option<Nanos>,
    /// Seed of all random numbers
    #[arg(long, alias = "randseed", default_value_t = 1)]
    seed: u64,
    /// Number of seeds, from --seed on. The best policy has the fewest joules on average; a policy that is best with
    /// some of the seeds ties with it. Default: 1, with --sample 3
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=30))]
    replicates: Option<u32>,
    /// Compare this policy with every other in each cell: whether it keeps the promise, and the ratio of joules
    #[arg(long, value_name = "POLICY", conflicts_with = "output_format")]
    pub compare: Option<String>,
    /// Save finished cells in this file and continue from it. A part of a grid can use the file of the whole
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Number of threads that simulate. Default: 1
    #[arg(long, default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: u64,
    /// Draw maps of the best policies to this file, at most 36 maps. An existing file is kept unless --force is given
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Overwrite an existing file of maps
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub output: Output<GridFormat>,
}

fn size(text: &str) -> Result<u32, String> {
    let bytes = parse_size(text).map_err(|error| error.to_string())?;
    let bytes = u32::try_from(bytes).ok().filter(|&bytes| bytes > 0);
    bytes.ok_or_else(|| format!("'{text}' is out of range: 1 byte to 4 GiB"))
}

fn ios(text: &str) -> Result<u64, String> {
    match parse_count(text).map_err(|error| error.to_string())? {
        0..1_000 => Err(format!(
            "'{text}' is too few for a 99.9th percentile: give at least 1000"
        )),
        count => Ok(count),
    }
}

impl GridArgs {
    /// Returns the grid that the flags describe.
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

    /// Returns a value that a list has twice, with its flag: its cells would be the same.
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

    /// Returns the number of threads that simulate.
    pub fn threads(&self) -> usize {
        self.threads as usize
    }
}

/// Returns the first value of `list` that occurs earlier in it, as it is written.
fn again<T: PartialEq + ToString>(list: &[T]) -> Option<String> {
    let again = |&at: &usize| list[..at].contains(&list[at]);
    (0..list.len()).find(again).map(|at| list[at].to_string())
}

fn or<T>(given: Vec<T>, default: Vec<T>) -> Vec<T> {
    if given.is_empty() { default } else { given }
}
