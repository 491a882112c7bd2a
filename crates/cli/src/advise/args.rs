//! Flags of `joulio advise`, in addition to those of the workload.

use crate::output::Output;
use crate::times::{duration, seconds};
use crate::work::WorkArgs;
use joulio_lab::advise::{AdviceRequest, Observe};
use joulio_lab::experiment::{
    EnergyOptions, ExperimentOptions, ExperimentSettings, WorkloadOptions,
};
use joulio_lab::virtual_time::TwinOptions;
use joulio_units::{Boundary, Nanos, Watts};
use joulio_workload::{CompletionMode, EngineName, RingOptions, parse_count};
use std::path::PathBuf;

/// Runs every completion mode under every setting that can matter to it, and says what to choose. Reads
/// only, unless --rw says otherwise.
#[derive(clap::Args)]
pub struct AdviseArgs {
    #[command(flatten)]
    pub work: WorkArgs,
    /// Engines to compare, a list. Default: nvme on a controller, io_uring and psync on a block device or a file;
    /// with --twin all of them
    #[arg(long, value_delimiter = ',')]
    engine: Vec<EngineName>,
    /// Completion modes to compare, a list. Default: all that the engines have
    #[arg(long, value_delimiter = ',')]
    completion: Vec<CompletionMode>,
    /// Observe the workload of a block device in use for this long (60s), from the kernel's counters
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = WORKLOAD)]
    observe: Option<Nanos>,
    /// Block device to observe. Default: the first --device
    #[arg(long, value_name = "DISK", requires = "observe")]
    disk: Option<String>,
    /// Take the workload from a fio log (write_iolog)
    #[arg(long = "read_iolog", value_name = "FILE", conflicts_with = "observe", conflicts_with_all = WORKLOAD)]
    read_iolog: Option<PathBuf>,
    /// Limit in watts at the boundary of --objective: find the most IOPS, or in an open loop the least latency,
    /// within it. Tries depths up to --iodepth; only --slo limits latencies
    #[arg(long, value_name = "WATTS", value_parser = watts, conflicts_with = "latency_budget")]
    cap: Option<Watts>,
    /// Boundary of --cap: device (the drives), dram, cores, package, psys or wall. Default: that of --objective
    #[arg(long = "cap-boundary", value_name = "BOUNDARY", requires = "cap")]
    cap_boundary: Option<Boundary>,
    /// I/O schedulers to compare, a list. Default: all that the disks have; joulio's driver uses none
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    scheduler: Vec<String>,
    /// Deepest idle states to compare, a list. Default: every state to which CPUs can be limited
    #[arg(long = "max-cstate", value_name = "STATE", value_delimiter = ',')]
    max_cstate: Vec<String>,
    /// Repetitions of each run, interleaved; in virtual time, seeds
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100))]
    replicates: u32,
    /// Seconds of each run (or 500ms). Default: 1
    #[arg(long, value_parser = seconds)]
    runtime: Option<Nanos>,
    /// I/Os of each job in each run (10k). Default with --twin: 20k
    #[arg(long = "number_ios", value_parser = parse_count)]
    number_ios: Option<u64>,
    /// Seconds to run before each measurement (or 50ms). Default: 0.3; for a policy that learns, at least twice its
    /// learning time
    #[arg(long = "ramp_time", value_parser = seconds)]
    ramp_time: Option<Nanos>,
    /// Machine profile for the energy model: a name, or a path to a .toml file. Default: the profile of this
    /// processor, or a generic server
    #[arg(long)]
    machine: Option<String>,
    /// Meters to read, a list as for joulio power
    #[arg(long, value_name = "METER", value_delimiter = ',')]
    meter: Vec<String>,
    /// In virtual time: --machine and the devices' profiles are the machine
    #[arg(long)]
    twin: bool,
    /// Make the settings that the advice names and leave them: joulio restore restores the old ones
    #[arg(long, conflicts_with = "twin")]
    pub apply: bool,
    /// With the table of all candidates
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub output: Output,
}

/// Flags that conflict with an observed workload, which replaces them.
const WORKLOAD: [&str; 10] = [
    "rw",
    "rwmixread",
    "bs",
    "iodepth",
    "rate_iops",
    "phases",
    "thinktime",
    "thinktime_blocks",
    "bursts",
    "rate_process",
];

/// Parses a power: `12`, `12W`, `12.5W`.
fn watts(text: &str) -> Result<Watts, String> {
    let number = text.strip_suffix(['W', 'w']).unwrap_or(text);
    match number.parse::<f64>() {
        Ok(watts) if watts.is_finite() && watts > 0.0 => Ok(Watts(watts)),
        _ => Err(format!(
            "'{text}' is not a power: write watts above zero, as 12W"
        )),
    }
}

impl AdviseArgs {
    /// Returns the request that the flags describe.
    pub fn request(&self) -> AdviceRequest {
        let observe = match (&self.read_iolog, self.observe) {
            (Some(path), _) => Some(Observe::Iolog(path.clone())),
            (None, Some(time)) => Some(Observe::Disk {
                disk: self.disk.clone(),
                time,
            }),
            (None, None) => None,
        };
        AdviceRequest {
            experiment: ExperimentOptions {
                targets: self.work.targets(RingOptions::default()),
                engines: self.engine.clone(),
                completion: self.completion.clone(),
                workload: WorkloadOptions {
                    runtime: self.runtime,
                    number_ios: self.number_ios,
                    ramp_time: self.ramp_time,
                    ..self.work.workload()
                },
                settings: ExperimentSettings {
                    schedulers: self.scheduler.clone(),
                    max_cstates: self.max_cstate.clone(),
                    ..ExperimentSettings::default()
                },
                replicates: self.replicates,
                energy: EnergyOptions {
                    meters: self.meter.clone(),
                    machine: self.machine.clone(),
                    ..EnergyOptions::default()
                },
                twin: self.twin.then(TwinOptions::default),
                ..ExperimentOptions::default()
            },
            observe,
            cap: self.cap,
            cap_boundary: self.cap_boundary,
        }
    }
}
