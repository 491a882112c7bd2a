//! The flags of `joulio advise` beside those of the work.

use crate::failure::Failure;
use crate::output::Format;
use crate::times::{duration, seconds};
use crate::work::{Length, WorkArgs};
use joulio_lab::TargetName;
use joulio_lab::advise::{AdviceOptions, Limits};
use joulio_lab::experiment::EnergyOptions;
use joulio_nvme::wait::Promised;
use joulio_units::{Nanos, Watts};
use joulio_workload::{
    Arrivals, CompletionMode, EngineName, Job, Method, RingOptions, Verify, parse_count,
};
use std::path::PathBuf;

/// How long each run is, and how long it warms up before, unless it is in virtual time.
const RUNTIME: Nanos = Nanos::from_millis(1_000);
const RAMP: Nanos = Nanos::from_millis(300);
/// I/Os of each job in virtual time.
const NUMBER_IOS: u64 = 20_000;
/// The shallowest depth at which an interrupt for several completions can make sense.
const COALESCED: usize = 4;

/// Runs every completion mode under every setting that can matter to it, and says what to choose. Reads
/// only, unless --rw says otherwise.
#[derive(clap::Args)]
pub struct AdviseArgs {
    #[command(flatten)]
    pub work: WorkArgs,
    /// Engines, a list. Default: nvme on a controller, io_uring and psync on a block device or a
    /// file; with --twin all of them
    #[arg(long, value_delimiter = ',')]
    engine: Vec<EngineName>,
    /// Completion modes, a list. Default: all that the engines have
    #[arg(long, value_delimiter = ',')]
    completion: Vec<CompletionMode>,
    /// Take the workload from the kernel's counters of a block device in use: watch it for so long
    /// (60s)
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = WORKLOAD)]
    pub observe: Option<Nanos>,
    /// The block device to watch. Default: the first --device
    #[arg(long, value_name = "DISK", requires = "observe")]
    pub disk: Option<String>,
    /// Take the workload from a log of fio's (write_iolog)
    #[arg(long = "read_iolog", alias = "read-iolog", value_name = "FILE", conflicts_with = "observe", conflicts_with_all = WORKLOAD)]
    pub read_iolog: Option<PathBuf>,
    /// Watts that may be drawn within the boundary of --objective: then the most IOPS are sought
    /// within them, in an open loop the least latency. Depths up to --iodepth are tried; only --slo
    /// promises latencies
    #[arg(long, value_name = "WATTS", value_parser = watts, conflicts_with = "latency_budget")]
    pub cap: Option<Watts>,
    /// I/O schedulers, a list. Default: all that the disks have; of joulio's driver there is none
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub scheduler: Vec<String>,
    /// Deepest idle states, a list. Default: each that CPUs can be kept from going deeper than
    #[arg(
        long = "max-cstate",
        alias = "max_cstate",
        value_name = "STATE",
        value_delimiter = ','
    )]
    pub max_cstate: Vec<String>,
    /// Repetitions of each run, in turn: in virtual time, seeds
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100))]
    pub replicates: u32,
    /// Seconds of each run (or 500ms). Default: 1
    #[arg(long, value_parser = seconds)]
    runtime: Option<Nanos>,
    /// I/Os of each job in each run (or 10k). Default with --twin: 20k
    #[arg(long = "number_ios", alias = "number-ios", value_parser = parse_count)]
    number_ios: Option<u64>,
    /// The machine whose watts the energy model uses: a name, or a path to a .toml file. Default:
    /// the one that fits this processor, or a generic server
    #[arg(long)]
    pub machine: Option<String>,
    /// Only these meters, a list, as joulio power takes it
    #[arg(long, value_name = "METER", value_delimiter = ',')]
    meter: Vec<String>,
    /// In virtual time: --machine and the devices' profiles are the machine
    #[arg(long)]
    pub twin: bool,
    /// Make the settings that the advice names and leave them: joulio restore puts them back
    #[arg(long, conflicts_with = "twin")]
    pub apply: bool,
    /// With the table of all candidates
    #[arg(long)]
    pub explain: bool,
    /// normal or json
    #[arg(
        short = 'o',
        long,
        alias = "output-format",
        value_enum,
        default_value = "normal"
    )]
    pub output: Format,
}

/// Flags that an observed workload stands in for.
const WORKLOAD: [&str; 9] = [
    "rw",
    "rwmixread",
    "bs",
    "iodepth",
    "rate_iops",
    "phases",
    "thinktime",
    "thinktime_blocks",
    "rate_process",
];

/// `12`, `12W`, `12.5W`.
fn watts(text: &str) -> Result<Watts, String> {
    let number = text.strip_suffix(['W', 'w']).unwrap_or(text);
    match number.parse::<f64>() {
        Ok(watts) if watts.is_finite() && watts > 0.0 => Ok(Watts(watts)),
        _ => Err(format!(
            "'{text}' is no power: write watts above zero, as 12W"
        )),
    }
}

impl AdviseArgs {
    /// The job that the flags describe.
    pub fn job(&self) -> Result<Job, Failure> {
        Limits::check_promised(&self.work.goal.goal().promised).map_err(Failure::input)?;
        let by_count = self.number_ios.or(self.twin.then_some(NUMBER_IOS));
        let length = Length {
            runtime: self.runtime.or(by_count.is_none().then_some(RUNTIME)),
            number_ios: match (self.number_ios, self.runtime) {
                (None, Some(_)) => None,
                _ => by_count,
            },
            window: None,
            ramp_time: RAMP,
        };
        match self.twin {
            true => self.work.job_anywhere(length, Verify::None),
            false => self.work.job(length, Verify::None),
        }
    }

    /// Every engine in every completion mode of `job` that can be tried.
    pub fn methods(&self, job: &Job) -> Result<Vec<Method>, Failure> {
        let kernel = [EngineName::IoUring, EngineName::Psync];
        let own = [EngineName::Nvme];
        let on_kernel = matches!(self.work.device.first(), Some(TargetName::Kernel(_)));
        let engines = match (self.engine.as_slice(), self.twin, on_kernel) {
            ([], true, _) => [&own[..], &kernel].concat(),
            ([], false, true) => kernel.to_vec(),
            ([], false, false) => own.to_vec(),
            (engines, ..) => engines.to_vec(),
        };
        let all = engines.iter().flat_map(|&engine| {
            let modes = match self.completion.as_slice() {
                [] => &CompletionMode::ALL,
                modes => modes,
            };
            modes.iter().map(move |&mode| Method { engine, mode })
        });
        let methods: Vec<_> = all.filter(|&method| self.can(method, job)).collect();
        if methods.is_empty() {
            return Err(Failure::input(
                "--engine, --completion: no engine has any of these completion modes at this iodepth",
            ));
        }
        Ok(methods)
    }

    fn can(&self, Method { engine, mode }: Method, job: &Job) -> bool {
        let of_the_twin = matches!(
            mode,
            CompletionMode::ActiveCheck | CompletionMode::ActiveCheckPoll
        );
        let possible = engine.takes(mode) && !(engine == EngineName::Psync && job.iodepth > 1);
        let modelled = !(self.twin && mode == CompletionMode::SqPoll);
        // These are for comparisons only.
        possible && modelled && (!of_the_twin || !self.completion.is_empty())
    }

    /// Interrupt coalescings that can make sense for `job`, as `--coalescing` takes them: virtual time
    /// alone tries them.
    pub fn coalescing(&self, job: &Job) -> Vec<String> {
        match self.twin && job.iodepth >= COALESCED {
            true => vec![format!("{},100", job.iodepth / 2)],
            false => Vec::new(),
        }
    }

    /// Depths to try.
    pub fn depths(&self, job: &Job) -> Vec<usize> {
        if self.cap.is_none() {
            return vec![job.iodepth];
        }
        let powers = std::iter::successors(Some(1), |depth| Some(depth * 2));
        let mut depths: Vec<_> = powers.take_while(|&depth| depth < job.iodepth).collect();
        depths.push(job.iodepth);
        depths
    }

    /// What the advice goes by, where a busy core takes `spin_watts`.
    pub fn options(&self, job: &Job, spin_watts: Option<f64>) -> AdviceOptions {
        AdviceOptions {
            objective: self.work.goal.objective(),
            promised: match (self.cap, self.work.goal.goal().promised) {
                // Another depth has another polling.
                (Some(_), Promised::Budget(_)) => Promised::Nothing,
                (_, promised) => promised,
            },
            cap: self.cap,
            open: job.arrivals != Arrivals::Closed,
            spin_watts,
        }
    }

    /// The sources of energy figures that the flags choose.
    pub fn energy(&self) -> EnergyOptions {
        EnergyOptions {
            meters: self.meter.clone(),
            machine: self.machine.clone(),
            faults: self.work.faults.clone(),
            ..EnergyOptions::default()
        }
    }

    /// io_uring's options.
    pub fn ring(&self) -> RingOptions {
        RingOptions::default()
    }
}
