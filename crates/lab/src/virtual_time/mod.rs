//! Experiments in virtual time: all combinations of methods and settings on a modelled machine and modelled devices.

mod error;
mod frequency;
mod twin_options;

pub use error::VirtualError;
pub use frequency::{CoreFrequency, FrequencyError};
pub use joulio_model::machine::costs::IdleState;
pub use twin_options::{TwinOptions, VirtualSurroundings};

use crate::device_name::{DeviceKind, DeviceName};
use crate::machine_profile;
use crate::manifest_device::ManifestDevice;
use crate::target_name::TargetName;
use joulio_host::power_states::coalescing::{coalesced, describe};
use joulio_model::{DeviceProfile, FrequencyRatio, MachineProfile};
use joulio_nvme_spec::feature::InterruptCoalescing;
use joulio_twin::{
    Coalescing, DispatchThread, TwinError, TwinSetup, check_devices, check_method, run,
};
use joulio_units::Nanos;
use joulio_workload::{CompletionResult, Job, Method, RunResult, Stop};
use std::collections::BTreeMap;

/// Options of an experiment in virtual time.
#[derive(Clone, Debug)]
pub struct VirtualOptions {
    /// Devices, all of which are emulated.
    pub devices: Vec<TargetName>,
    /// Machine: a name, or a path to a .toml file; `None`: the one that fits this processor, or a generic server.
    pub machine: Option<String>,
    /// I/O schedulers, with each of which every run is done; empty: none.
    pub schedulers: Vec<String>,
    /// Frequencies of the jobs' cores, at each of which every run is done; empty: the machine's reference.
    pub frequencies: Vec<CoreFrequency>,
    /// Deepest idle states of the jobs' CPUs, with each of which every run is done; empty: the machine's deepest.
    pub max_cstates: Vec<IdleState>,
    /// Interrupt coalescing values of the devices, with each of which every run is done; empty: off.
    pub coalescing: Vec<InterruptCoalescing>,
    /// Surroundings of all runs: threads beside the jobs, schedulers in the I/O path.
    pub surroundings: VirtualSurroundings,
}

/// A checked experiment in virtual time.
#[derive(Debug)]
pub struct VirtualExperiment {
    /// Machine of the runs.
    pub machine: MachineProfile,
    /// Devices of the runs, for the manifest.
    pub devices: Vec<ManifestDevice>,
    profiles: Vec<DeviceProfile>,
    methods: Vec<Method>,
    settings: Vec<VirtualSettings>,
    surroundings: VirtualSurroundings,
}

/// Settings of a run.
#[derive(Clone, Debug)]
struct VirtualSettings {
    scheduler: Option<String>,
    /// Requested frequency, and its ratio to the machine's reference.
    frequency: Option<(CoreFrequency, FrequencyRatio)>,
    max_cstate: Option<IdleState>,
    coalescing: Option<InterruptCoalescing>,
}

impl VirtualExperiment {
    /// Checks that `job` can be simulated with each of `methods`, and reads the profiles.
    ///
    /// # Errors
    /// The job, a method, a setting or a device cannot be modelled, or a profile is missing.
    pub fn new(
        options: &VirtualOptions,
        job: &Job,
        methods: Vec<Method>,
    ) -> Result<VirtualExperiment, VirtualError> {
        for method in &methods {
            check_method(*method, job.iodepth)?;
            check_devices(*method, job.numjobs, options.devices.len())?;
        }
        let own = methods.iter().find(|method| !method.engine.is_kernel());
        if let Some(own) = own.filter(|_| !options.schedulers.is_empty()) {
            return Err(VirtualError::Scheduler(own.engine));
        }
        let machine = machine_profile(options.machine.as_deref())?;
        let devices = options.devices.iter().map(|name| device(name, job));
        let devices: Vec<_> = devices.collect::<Result<_, _>>()?;
        let (profiles, devices) = devices.into_iter().unzip();
        Ok(VirtualExperiment {
            settings: settings(options, &machine)?,
            machine,
            devices,
            profiles,
            methods,
            surroundings: options.surroundings,
        })
    }

    /// Simulates every method with every combination of settings, until `stop`; `job` returns the job for a method.
    ///
    /// # Errors
    /// A run cannot be simulated, or was stopped. A method that the machine lacks is not an error: its result has the
    /// reason.
    pub fn run(
        &self,
        stop: &Stop,
        job: impl Fn(Method) -> Job,
    ) -> Result<Vec<RunResult>, VirtualError> {
        let runs = self.settings.iter().flat_map(|settings| {
            let methods = self.methods.iter();
            methods.map(|&method| self.run_one(&job(method), method, settings, stop))
        });
        runs.collect()
    }

    fn run_one(
        &self,
        job: &Job,
        method: Method,
        settings: &VirtualSettings,
        stop: &Stop,
    ) -> Result<RunResult, VirtualError> {
        let setup = TwinSetup {
            stop: Some(stop.flag()),
            scheduler: settings.scheduler.as_deref(),
            coalescing: settings.coalescing(),
            frequency: settings.frequency.map(|(_, ratio)| ratio),
            max_cstate: settings.max_cstate,
            neighbours: self.surroundings.neighbours,
            other_irqs: self.surroundings.other_irqs,
            posted_interrupts: self.surroundings.posted_interrupts,
            per_job: true,
            file_system: self.surroundings.file_system,
            dispatch: match self.surroundings.kworker {
                true => DispatchThread::Kworker,
                false => DispatchThread::Inline,
            },
            ..TwinSetup::new(&self.machine, &self.profiles)
        };
        let mut result = match run(job, method, &setup) {
            Ok(run) => run.result,
            Err(error @ TwinError::Step { .. }) => self.unavailable(job, method, &error),
            Err(error) => return Err(VirtualError::Twin(error)),
        };
        let counted = result.counts.iter_mut();
        let devices = counted.flat_map(|counts| &mut counts.per_device);
        for (device, name) in devices.zip(self.names()) {
            device.device = name;
        }
        Ok(RunResult {
            devices: self.names(),
            settings: self.settings_of(settings),
            ..result
        })
    }

    /// Returns the result of a method that the machine does not have.
    fn unavailable(&self, job: &Job, method: Method, error: &TwinError) -> RunResult {
        let completion = CompletionResult {
            requested: method.mode.to_string(),
            effective: None,
            reason: Some(error.to_string()),
        };
        RunResult {
            modelled: true,
            ..RunResult::new(job, method, self.names(), completion, None)
        }
    }

    /// Returns the values of `settings`, and of the load beside the jobs, by name, as results show them.
    fn settings_of(&self, settings: &VirtualSettings) -> BTreeMap<String, String> {
        let mut names = settings.names();
        let other_irqs = Some(self.surroundings.other_irqs).filter(|rate| *rate > 0);
        names.extend(other_irqs.map(|rate| ("other-irqs".to_owned(), rate.to_string())));
        if self.surroundings.posted_interrupts {
            names.insert("posted-interrupts".to_owned(), "on".to_owned());
        }
        names
    }

    fn names(&self) -> Vec<String> {
        let devices = self.devices.iter();
        devices.map(|device| device.name.clone()).collect()
    }
}

/// Returns every combination of the settings in `options`, after checking that `machine` can have them.
fn settings(
    options: &VirtualOptions,
    machine: &MachineProfile,
) -> Result<Vec<VirtualSettings>, VirtualError> {
    let requested = options.frequencies.iter();
    let ratios = requested.map(|&frequency| Ok((frequency, frequency.ratio(machine)?)));
    let frequencies = or_none(ratios.collect::<Result<Vec<_>, FrequencyError>>()?);
    for &state in &options.max_cstates {
        check_idle_state(state, machine)?;
    }
    let mut all = Vec::new();
    for &frequency in &frequencies {
        for &max_cstate in &or_none(options.max_cstates.clone()) {
            for scheduler in or_none(options.schedulers.clone()) {
                for coalescing in or_none(options.coalescing.clone()) {
                    all.push(VirtualSettings {
                        scheduler: scheduler.clone(),
                        frequency,
                        max_cstate,
                        coalescing,
                    });
                }
            }
        }
    }
    Ok(all)
}

/// Returns an error if `machine` does not have the idle state.
fn check_idle_state(state: IdleState, machine: &MachineProfile) -> Result<(), VirtualError> {
    let costs = machine.costs.iter();
    let states: Vec<_> = costs
        .flat_map(|costs| &costs.idle)
        .map(|costs| costs.state)
        .collect();
    if states.is_empty() || states.contains(&state) {
        return Ok(());
    }
    let names: Vec<_> = states.iter().map(|state| state.name()).collect();
    Err(VirtualError::IdleState {
        state,
        machine: machine.name.clone(),
        known: names.join(", "),
    })
}

/// Returns each of `values`, or `None` alone if there are none.
fn or_none<T>(values: Vec<T>) -> Vec<Option<T>> {
    match values.is_empty() {
        true => vec![None],
        false => values.into_iter().map(Some).collect(),
    }
}

impl VirtualSettings {
    /// Returns the values by name, as results show them.
    fn names(&self) -> BTreeMap<String, String> {
        let frequency = self.frequency.map(|(requested, _)| requested.to_string());
        let values = [
            ("scheduler", self.scheduler.clone()),
            ("frequency", frequency),
            ("max-cstate", self.max_cstate.map(|state| state.to_string())),
            ("coalescing", self.coalescing.map(describe)),
        ];
        let values = values.into_iter();
        values
            .filter_map(|(name, value)| Some((name.into(), value?)))
            .collect()
    }

    /// Returns the coalescing for the twin; `None` if it is off.
    fn coalescing(&self) -> Option<Coalescing> {
        let (threshold, us) = coalesced(self.coalescing?)?;
        Some(Coalescing {
            threshold,
            time: Nanos::from_micros(us.into()),
        })
    }
}

/// Returns the profile of the device `target`; virtual time has no other devices than emulated ones.
fn device(target: &TargetName, job: &Job) -> Result<(DeviceProfile, ManifestDevice), VirtualError> {
    let TargetName::Own(DeviceName {
        text,
        kind: DeviceKind::Emulated(emulated),
        ..
    }) = target
    else {
        return Err(VirtualError::NotEmulated(target.text()));
    };
    if let Some(parameter) = emulated.of_bytes() {
        let name = text.clone();
        return Err(VirtualError::Meaningless { name, parameter });
    }
    let profile = emulated.profile()?;
    let (bytes, block_bytes) = emulated.geometry(&profile)?;
    job.area(bytes, block_bytes)?;
    let device = ManifestDevice {
        name: text.clone(),
        bytes,
        block_bytes,
        emulates: Some(profile.name.clone()),
        power_state: None,
        apst: None,
        host_memory_bytes: None,
        iommu: None,
    };
    Ok((profile, device))
}
