//! What a result needs beside itself to be run again and understood.

use super::Args;
use joulio_model::MachineProfile;
use joulio_workload::{Job, Target};
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// The `manifest` of `--output json`.
#[derive(Serialize)]
pub struct Manifest {
    joulio: &'static str,
    command: Vec<String>,
    started_unix_seconds: u64,
    kernel: String,
    cpu: String,
    cpus: usize,
    seed: u64,
    runtime_seconds: Option<f64>,
    ramp_seconds: f64,
    number_ios: Option<u64>,
    devices: Vec<Device>,
    /// What went wrong in them on purpose; `null`: nothing.
    faults: Option<String>,
    energy: EnergyNote,
    /// It was ended early: runs may be missing or short.
    pub interrupted: bool,
}

#[derive(Serialize)]
struct Device {
    name: String,
    bytes: u64,
    block_bytes: u32,
    /// The profile that it follows: it is emulated.
    emulates: Option<String>,
}

#[derive(Serialize)]
struct EnergyNote {
    measured: bool,
    machine_profile: String,
    note: &'static str,
}

impl Manifest {
    pub fn new(
        args: &Args,
        job: &Job,
        machine: &MachineProfile,
        targets: &[Box<dyn Target>],
    ) -> Manifest {
        let uname = rustix::system::uname();
        Manifest {
            joulio: env!("CARGO_PKG_VERSION"),
            command: std::env::args_os()
                .map(|arg| arg.to_string_lossy().into_owned())
                .collect(),
            started_unix_seconds: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
            kernel: uname.release().to_string_lossy().into_owned(),
            cpu: cpu_model(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            seed: args.work.seed,
            runtime_seconds: job.runtime.map(|t| t.seconds()),
            ramp_seconds: job.ramp_time.seconds(),
            number_ios: job.number_ios,
            devices: targets
                .iter()
                .map(|target| Device {
                    name: target.name().into(),
                    bytes: target.size(),
                    block_bytes: target.block_size(),
                    emulates: target.profile().map(|profile| profile.name.clone()),
                })
                .collect(),
            faults: (!args.work.faults.is_empty()).then(|| args.work.faults.to_string()),
            energy: EnergyNote {
                measured: false,
                machine_profile: machine.name.clone(),
                note: "all energy is modelled: time in each wait state times the watts of the profiles",
            },
            interrupted: false,
        }
    }
}

fn cpu_model() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(": "))
        .map(|(_, model)| model.to_string())
        .unwrap_or_default()
}
