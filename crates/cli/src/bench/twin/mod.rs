//! `joulio bench --twin`: the same flags, table and JSON, played in virtual time.

mod frequency;

use super::energy::EnergyNote;
use super::manifest::{Device, Manifest};
use super::{Args, Report, table};
use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, print, print_json};
pub use frequency::Frequency;
use joulio_host::power_states::coalescing::{coalesced, describe};
use joulio_lab::experiment::BadResults;
use joulio_lab::{DeviceKind, DeviceName, TargetName, machine_profile};
use joulio_model::{DeviceProfile, FrequencyRatio, MachineProfile};
use joulio_nvme_spec::feature::InterruptCoalescing;
use joulio_twin::{Coalescing, TwinError, TwinSetup, check_method, run as run_twin};
use joulio_units::Nanos;
use joulio_workload::{CompletionResult, Job, Method, RunResult};
use std::collections::BTreeMap;

/// What is played: the job that was asked for, on these.
struct Stage {
    job: Job,
    machine: MachineProfile,
    devices: Vec<DeviceProfile>,
    /// As they were named.
    names: Vec<String>,
}

/// `joulio bench --twin`.
pub fn run(args: &Args) -> Outcome {
    if let Some((flag, why)) = args.senseless_in_the_twin() {
        return Err(Failure::input(format!("{flag} with --twin: {why}")));
    }
    let (job, methods) = (args.job()?, args.methods()?);
    if job.bs.count() > 1 {
        return Err(Failure::input(format!(
            "--bs {} with --twin: its jobs are of one size",
            job.bs
        )));
    }
    for method in &methods {
        check_method(*method, job.iodepth).map_err(refused)?;
    }
    let schedulers = schedulers(args, &methods)?;
    let machine = machine_profile(args.machine.as_deref()).map_err(Failure::input)?;
    let (mut stage, mut noted) = (Vec::new(), Vec::new());
    for place in &args.work.device {
        let (profile, device) = device(place, &job)?;
        stage.push(profile);
        noted.push(device);
    }
    let stage = Stage {
        job,
        machine,
        devices: stage,
        names: args.work.device.iter().map(TargetName::text).collect(),
    };
    let mut runs = Vec::new();
    for set in settings(args, &stage.machine, &schedulers)? {
        for method in &methods {
            runs.push(stage.run(args, *method, set)?);
        }
    }
    match args.output {
        Format::Normal => {
            let names: Vec<_> = stage.names.iter().map(String::as_str).collect();
            let heading = table::heading(&stage.job, &names, &args.work.faults);
            let machine = &stage.machine.name;
            print(&format!(
                "{}\nin virtual time on {machine}: every figure is modelled\n\n",
                heading.trim_end()
            ))?;
            print(&table::table(&runs))?;
        }
        Format::Json => {
            let energy = EnergyNote::modelled(&stage.machine);
            print_json(&Report {
                manifest: &Manifest::modelled(args, &stage.job, noted, energy),
                runs: &runs,
            })?;
        }
    }
    if runs.iter().all(|run| run.counts.is_none()) {
        return Err(Failure::run(BadResults::Unavailable));
    }
    Ok(())
}

/// Names the flags that a method is of.
fn refused(error: TwinError) -> Failure {
    Failure::input(match error {
        TwinError::Method { engine, mode } => {
            format!("--completion {mode} with --twin: not modelled for {engine}")
        }
        TwinError::Job {
            field: "iodepth",
            problem,
        } => format!("--iodepth with --engine: {problem}"),
        error => error.to_string(),
    })
}

/// What a run has set.
#[derive(Clone, Copy)]
struct Set<'a> {
    scheduler: Option<&'a str>,
    /// As it was asked for, and over the machine's reference.
    frequency: Option<(Frequency, FrequencyRatio)>,
    coalescing: Option<InterruptCoalescing>,
}

/// Every scheduler at every frequency that `machine` can have.
fn settings<'a>(
    args: &Args,
    machine: &MachineProfile,
    schedulers: &[Option<&'a str>],
) -> Result<Vec<Set<'a>>, Failure> {
    let asked = args.frequency.iter();
    let clocks = asked.map(|&frequency| Ok(Some((frequency, frequency.ratio(machine)?))));
    let mut clocks = clocks.collect::<Result<Vec<_>, Failure>>()?;
    if clocks.is_empty() {
        clocks.push(None);
    }
    let at = |&frequency: &Option<(Frequency, FrequencyRatio)>| {
        schedulers.iter().map(move |&scheduler| Set {
            scheduler,
            frequency,
            coalescing: args.coalescing,
        })
    };
    Ok(clocks.iter().flat_map(at).collect())
}

impl Set<'_> {
    /// By name, as results have them.
    fn names(self) -> BTreeMap<String, String> {
        let set = [
            ("scheduler", self.scheduler.map(String::from)),
            (
                "frequency",
                self.frequency.map(|(asked, _)| asked.to_string()),
            ),
            ("coalescing", self.coalescing.map(describe)),
        ];
        let set = set.into_iter();
        set.filter_map(|(name, value)| Some((name.into(), value?)))
            .collect()
    }

    /// How interrupts are coalesced, where they are.
    fn held_back(self) -> Option<Coalescing> {
        let (threshold, us) = coalesced(self.coalescing?)?;
        Some(Coalescing {
            threshold,
            time: Nanos::from_micros(us.into()),
        })
    }
}

/// Every run is done with each; `none`, where none was named.
fn schedulers<'a>(args: &'a Args, methods: &[Method]) -> Result<Vec<Option<&'a str>>, Failure> {
    let named = args.settings.schedulers();
    let own = methods.iter().find(|method| !method.engine.is_kernel());
    match own {
        Some(own) if !named.is_empty() => Err(Failure::input(format!(
            "--scheduler with --twin: {} has none: name engines of the kernel's, as --engine psync",
            own.engine
        ))),
        _ if named.is_empty() => Ok(vec![None]),
        _ => Ok(named.iter().map(|name| Some(name.as_str())).collect()),
    }
}

/// The profile that `place` follows: virtual time has no other devices.
fn device(place: &TargetName, job: &Job) -> Result<(DeviceProfile, Device), Failure> {
    let TargetName::Own(DeviceName {
        text,
        kind: DeviceKind::Emulated(emulated),
        ..
    }) = place
    else {
        return Err(Failure::input(format!(
            "--device {} with --twin: virtual time has the devices that have a profile: emulated:optane-900p",
            place.text()
        )));
    };
    if let Some(part) = emulated.of_bytes() {
        return Err(Failure::input(format!(
            "--device {text} with --twin: {part} has no meaning in virtual time"
        )));
    }
    let profile = emulated.profile()?;
    let (bytes, block_bytes) = emulated.geometry(&profile)?;
    job.area(bytes, block_bytes, profile.max_transfer())
        .map_err(Failure::input)?;
    let noted = Device {
        name: text.clone(),
        bytes,
        block_bytes,
        emulates: Some(profile.name.clone()),
        power_state: None,
    };
    Ok((profile, noted))
}

impl Stage {
    /// One run.
    fn run(&self, args: &Args, method: Method, set: Set<'_>) -> Result<RunResult, Failure> {
        let job = args.job_of(&self.job, method);
        let setup = TwinSetup {
            scheduler: set.scheduler,
            coalescing: set.held_back(),
            frequency: set.frequency.map(|(_, ratio)| ratio),
            ..TwinSetup::new(&self.machine, &self.devices)
        };
        let result = match run_twin(&job, method, &setup) {
            Ok(run) => run.result,
            Err(error @ TwinError::Step { .. }) => self.unavailable(&job, method, &error),
            Err(error) => return Err(Failure::input(error)),
        };
        Ok(RunResult {
            devices: self.names.clone(),
            settings: set.names(),
            ..result
        })
    }

    /// The result of a method that the machine does not have.
    fn unavailable(&self, job: &Job, method: Method, error: &TwinError) -> RunResult {
        let completion = CompletionResult {
            requested: method.mode.to_string(),
            effective: None,
            reason: Some(error.to_string()),
        };
        RunResult {
            modelled: true,
            ..RunResult::new(job, method, self.names.clone(), completion, None)
        }
    }
}
