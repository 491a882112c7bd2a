//! Flags for the machine's settings during a bench.

use joulio_host::knobs::parse_setting;
use joulio_lab::experiment::ExperimentSettings;
use joulio_workload::parse_time;
use std::str::FromStr;

/// The flags.
#[derive(clap::Args)]
#[command(next_help_heading = "Settings of the machine")]
pub struct Flags {
    /// I/O schedulers of the devices' disks, a list (none, mq-deadline, kyber, bfq): every run is done with each.
    /// Restored at the end, or after kill -9 by joulio restore
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    scheduler: Vec<String>,
    /// Deepest idle state that CPUs may enter, a list (C0, C1, C1E, C6 as the machine has them): every run is done
    /// with each. Restored as --scheduler is; with --twin it applies to the jobs' CPUs
    #[arg(long = "max-cstate", value_name = "STATE", value_delimiter = ',')]
    max_cstate: Vec<String>,
    /// Another kernel setting for all runs, one of those that joulio knobs shows: nr_requests=64. Repeatable;
    /// restored at the end
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    set: Vec<(String, String)>,
    /// Limit in microseconds for the wake-up latency of CPUs, written to /dev/cpu_dma_latency during the runs
    #[arg(long = "cpu_dma_latency", value_name = "US", value_parser = microseconds)]
    cpu_dma_latency: Option<u32>,
}

fn microseconds(text: &str) -> Result<u32, String> {
    let nanoseconds = match u32::from_str(text) {
        Ok(microseconds) => return Ok(microseconds),
        Err(_) => parse_time(text, 1_000).map_err(|error| error.to_string())?,
    };
    u32::try_from(nanoseconds / 1_000).map_err(|_| format!("'{text}' is too long"))
}

impl Flags {
    /// Returns the settings that the flags describe.
    pub fn settings(&self) -> ExperimentSettings {
        ExperimentSettings {
            schedulers: self.scheduler.clone(),
            max_cstates: self.max_cstate.clone(),
            set: self.set.clone(),
            cpu_dma_latency: self.cpu_dma_latency,
            coalescing: None,
            power_state: None,
            apst: None,
        }
    }
}
