//! What a result needs beside itself to be run again and understood.

use super::Args;
use super::energy::{EnergyNote, Sources};
use joulio_energy::{Processor, Root};
use joulio_host::Machine;
use joulio_kernel_io::Throttled;
use joulio_lab::TargetName;
use joulio_workload::{Job, Target};
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// The `manifest` of `--output json`.
#[derive(Serialize)]
pub struct Manifest {
    joulio: &'static str,
    command: Vec<String>,
    /// When; `null` in virtual time, as all that depends on the machine that computed it.
    started_unix_seconds: Option<u64>,
    kernel: Option<String>,
    cpu: Option<String>,
    cpus: Option<usize>,
    seed: u64,
    runtime_seconds: Option<f64>,
    ramp_seconds: f64,
    number_ios: Option<u64>,
    window_seconds: Option<f64>,
    devices: Vec<Device>,
    /// What went wrong in them on purpose; `null`: nothing.
    faults: Option<String>,
    energy: EnergyNote,
    /// The machine, its disks and file systems, as far as results depend on them.
    machine: Option<Machine>,
    /// The runs were played in virtual time.
    modelled: bool,
    /// Whether a CPU was too hot during the runs.
    pub throttled: Throttled,
    /// It was ended early: runs may be missing or short.
    pub interrupted: bool,
    /// The runs that are missing.
    pub not_run: Vec<String>,
}

/// A device of the runs.
#[derive(Serialize)]
pub struct Device {
    /// As it was named.
    pub name: String,
    /// Of its namespace.
    pub bytes: u64,
    /// Of a block.
    pub block_bytes: u32,
    /// The profile that it follows: it is emulated.
    pub emulates: Option<String>,
    /// The NVMe power state that it is in before the runs, where it can be asked.
    pub power_state: Option<u8>,
}

impl Manifest {
    pub fn new(args: &Args, job: &Job, sources: &Sources, targets: &[Box<dyn Target>]) -> Manifest {
        let uname = rustix::system::uname();
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        Manifest {
            started_unix_seconds: started.map(|since| since.as_secs()).ok(),
            kernel: Some(uname.release().to_string_lossy().into_owned()),
            cpu: Some(Processor::of(&Root::system()).name),
            cpus: std::thread::available_parallelism().map(usize::from).ok(),
            devices: targets
                .iter()
                .map(|target| Device {
                    name: target.info().name.clone(),
                    bytes: target.info().size,
                    block_bytes: target.info().block_size,
                    emulates: target
                        .info()
                        .profile
                        .as_ref()
                        .map(|profile| profile.name.clone()),
                    power_state: power_state(args, &**target),
                })
                .collect(),
            machine: Some(machine(args)),
            modelled: false,
            ..Manifest::modelled(args, job, Vec::new(), sources.note())
        }
    }

    /// Of runs in virtual time.
    pub fn modelled(args: &Args, job: &Job, devices: Vec<Device>, energy: EnergyNote) -> Manifest {
        Manifest {
            joulio: env!("CARGO_PKG_VERSION"),
            command: std::env::args_os()
                .map(|arg| arg.to_string_lossy().into_owned())
                .collect(),
            started_unix_seconds: None,
            kernel: None,
            cpu: None,
            cpus: None,
            seed: args.work.seed,
            runtime_seconds: job.runtime.map(|t| t.seconds()),
            ramp_seconds: job.ramp_time.seconds(),
            number_ios: job.number_ios,
            window_seconds: job.window.map(|t| t.seconds()),
            devices,
            faults: (!args.work.faults.is_empty()).then(|| args.work.faults.to_string()),
            energy,
            machine: None,
            modelled: true,
            throttled: Throttled::Unknown,
            interrupted: false,
            not_run: Vec::new(),
        }
    }
}

fn machine(args: &Args) -> Machine {
    let paths = args.work.device.iter().filter_map(|place| match place {
        TargetName::Kernel(path) => Some(path.as_path()),
        TargetName::Own(_) => None,
    });
    Machine::read("/", &paths.collect::<Vec<_>>())
}

/// Asking a device that fails on purpose would be a command more for its faults.
fn power_state(args: &Args, target: &dyn Target) -> Option<u8> {
    let control = target.power().filter(|_| args.work.faults.is_empty())?;
    control.power_state().ok()
}
