//! Manifest of a result: all that is needed, beside the figures, to repeat the run and to understand it.

use super::energy::{EnergyNote, EnergySources};
use crate::manifest_device::ManifestDevice;
use crate::target_name::TargetName;
use crate::targets::TargetOptions;
use joulio_energy::{Processor, Root};
use joulio_host::Machine;
use joulio_kernel_io::Throttled;
use joulio_units::Nanos;
use joulio_workload::{Job, Target};
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// Manifest of an experiment, as `--output json` prints it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Manifest {
    joulio: &'static str,
    command: Vec<String>,
    /// Seconds since 1970; `None` in virtual time, as all that depends on the machine that computed
    /// it.
    started_unix_seconds: Option<u64>,
    kernel: Option<String>,
    cpu: Option<String>,
    cpus: Option<usize>,
    seed: u64,
    runtime_seconds: Option<f64>,
    ramp_seconds: f64,
    number_ios: Option<u64>,
    window_seconds: Option<f64>,
    devices: Vec<ManifestDevice>,
    /// Faults that devices committed on purpose; `None`: none.
    faults: Option<String>,
    energy: EnergyNote,
    /// The machine, its disks and file systems, with everything that results depend on.
    machine: Option<Machine>,
    /// True if the runs were simulated in virtual time.
    modelled: bool,
    /// Throttling of the CPUs during the runs.
    pub throttled: Throttled,
    /// True if it was ended early: runs may be missing or short.
    pub interrupted: bool,
    /// Runs that are missing.
    pub not_run: Vec<String>,
}

impl Manifest {
    /// Creates the manifest of `jobs` on `targets`, which were opened with `options`.
    pub fn new(
        options: &TargetOptions,
        jobs: &[&Job],
        sources: &EnergySources,
        targets: &[Box<dyn Target>],
    ) -> Manifest {
        let uname = rustix::system::uname();
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        let faults = &options.faults;
        let devices = targets.iter().map(|target| {
            let info = target.info();
            // A query would consume faults that are meant for the run.
            let control = target.power().filter(|_| faults.is_empty());
            ManifestDevice {
                name: info.name.clone(),
                bytes: info.size,
                block_bytes: info.block_size,
                emulates: info.profile.as_ref().map(|profile| profile.name.clone()),
                // The power state is read first: other commands may wake a sleeping controller.
                power_state: control
                    .as_ref()
                    .and_then(|control| control.power_state().ok()),
                apst: control
                    .as_ref()
                    .and_then(|control| Some(control.apst().ok()?.0)),
                host_memory_bytes: control.and_then(|control| control.host_memory_bytes().ok()),
                iommu: info.iommu,
            }
        });
        Manifest {
            started_unix_seconds: started.map(|since| since.as_secs()).ok(),
            kernel: Some(uname.release().to_string_lossy().into_owned()),
            cpu: Some(Processor::of(&Root::system()).name),
            cpus: std::thread::available_parallelism().map(usize::from).ok(),
            faults: (!faults.is_empty()).then(|| faults.to_string()),
            machine: Some(machine(&options.devices)),
            modelled: false,
            ..Manifest::modelled(jobs, devices.collect(), sources.note())
        }
    }

    /// Sets whether the devices change their power state by themselves during the runs, where that can be read; `None`:
    /// the runs leave it as it is.
    pub fn set_apst(&mut self, apst: Option<bool>) {
        for device in &mut self.devices {
            device.apst = device.apst.map(|before| apst.unwrap_or(before));
        }
    }

    /// Returns sentences about the devices: differences in host memory or APST, and devices from which no IOMMU
    /// protects the machine.
    pub fn on_devices(&self) -> Vec<String> {
        let unlike = ManifestDevice::unlike(&self.devices);
        let unguarded = ManifestDevice::unguarded(&self.devices);
        unlike.into_iter().chain(unguarded).collect()
    }

    /// Returns the names of the devices.
    pub fn device_names(&self) -> Vec<&str> {
        let devices = self.devices.iter();
        devices.map(|device| device.name.as_str()).collect()
    }

    /// Adds the devices of `other` that this manifest does not have.
    pub fn add_devices(&mut self, other: Manifest) {
        for device in other.devices {
            if !self.devices.iter().any(|one| one.name == device.name) {
                self.devices.push(device);
            }
        }
    }

    /// Merges the manifest of other runs of the same command; values that differ become `None`.
    pub fn join(&mut self, other: Manifest) {
        fn keep<T: PartialEq>(own: &mut Option<T>, other: &Option<T>) {
            if own != other {
                *own = None;
            }
        }
        keep(&mut self.runtime_seconds, &other.runtime_seconds);
        keep(&mut self.number_ios, &other.number_ios);
        keep(&mut self.window_seconds, &other.window_seconds);
        self.ramp_seconds = self.ramp_seconds.min(other.ramp_seconds);
        self.throttled = match (self.throttled, other.throttled) {
            (Throttled::Yes, _) | (_, Throttled::Yes) => Throttled::Yes,
            (Throttled::No, Throttled::No) => Throttled::No,
            _ => Throttled::Unknown,
        };
        self.interrupted |= other.interrupted;
        self.not_run.extend(other.not_run.iter().cloned());
        self.add_devices(other);
    }

    /// Creates the manifest of `jobs`, at least one, in virtual time; values that differ between jobs are `None`.
    pub fn modelled(jobs: &[&Job], devices: Vec<ManifestDevice>, energy: EnergyNote) -> Manifest {
        let ramp = jobs.iter().map(|job| job.ramp_time).min();
        Manifest {
            joulio: env!("CARGO_PKG_VERSION"),
            command: std::env::args_os()
                .map(|arg| arg.to_string_lossy().into_owned())
                .collect(),
            started_unix_seconds: None,
            kernel: None,
            cpu: None,
            cpus: None,
            seed: jobs.first().map_or(0, |job| job.seed),
            runtime_seconds: common(jobs, |job| job.runtime).map(Nanos::seconds),
            ramp_seconds: ramp.unwrap_or_default().seconds(),
            number_ios: common(jobs, |job| job.number_ios),
            window_seconds: common(jobs, |job| job.window).map(Nanos::seconds),
            devices,
            faults: None,
            energy,
            machine: None,
            modelled: true,
            throttled: Throttled::Unknown,
            interrupted: false,
            not_run: Vec::new(),
        }
    }
}

/// Returns the value if it is the same in all `jobs`.
fn common<T: PartialEq>(jobs: &[&Job], value: impl Fn(&Job) -> Option<T>) -> Option<T> {
    let mut values = jobs.iter().map(|job| value(job));
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)?
}

fn machine(devices: &[TargetName]) -> Machine {
    let paths = devices.iter().filter_map(|device| match device {
        TargetName::Kernel(path) => Some(path.as_path()),
        TargetName::Own(_) => None,
    });
    Machine::read("/", &paths.collect::<Vec<_>>())
}
