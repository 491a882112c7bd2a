//! What tells a run's energy: the meters that can be read, and the model where there is none.

use super::Args;
use crate::failure::Failure;
use crate::meters;
use crate::power::idle;
use joulio_energy::{
    About, Baseline, Boundary, Filtering, Finding, FindingState, Meters, Processor, Root, Select,
};
use joulio_host::energy_sources;
use joulio_model::MachineProfile;
use joulio_workload::Target;
use serde::Serialize;

/// The sources of a command's energy figures.
pub struct Sources {
    /// They are read in every run.
    pub meters: Meters,
    /// What they show of the idle machine, and what has changed since.
    pub baseline: Option<(Baseline, Vec<String>)>,
    /// The machine whose watts the model uses, if it is used.
    pub machine: Option<MachineProfile>,
    /// That machine is this one.
    pub at_home: bool,
    others: Vec<Finding>,
    filtering: Filtering,
}

/// The `energy` of the manifest.
#[derive(Serialize)]
pub struct EnergyNote {
    /// Whether the processor adds noise to its counters; `null` in virtual time.
    energy_filtering: Option<String>,
    meters: Vec<MeterNote>,
    /// Meters that are not read, and why.
    not_read: Vec<NotRead>,
    idle_baseline: Option<BaselineNote>,
    /// Of the model; `null`: it was not used.
    machine_profile: Option<String>,
}

#[derive(Serialize)]
struct MeterNote {
    name: String,
    boundary: Boundary,
    zone: String,
    modelled: bool,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct NotRead {
    meter: String,
    why: String,
}

#[derive(Serialize)]
struct BaselineNote {
    #[serde(flatten)]
    baseline: Baseline,
    /// What is not as it was then.
    differences: Vec<String>,
}

impl EnergyNote {
    /// Of a machine in virtual time, whose profile is `machine`.
    pub fn modelled(machine: &MachineProfile) -> EnergyNote {
        EnergyNote {
            energy_filtering: None,
            meters: Vec::new(),
            not_read: Vec::new(),
            idle_baseline: None,
            machine_profile: Some(machine.name.clone()),
        }
    }
}

impl Sources {
    /// Of the machine, and of the devices `targets`.
    pub fn open(args: &Args, targets: &[Box<dyn Target>]) -> Result<Sources, Failure> {
        let root = meters::root(args.root.as_deref())?;
        energy_sources::check(&args.meter)?;
        let mut select = energy_sources::select(&args.machine_meters())?;
        let mut discovery = energy_sources::found(&root, &select)?;
        if let Some(word) = args.unknown_device(targets) {
            return Err(Failure::input(format!(
                "--meter: there is no {word}: the devices' meters are nvme:DEVICE, as --device has it"
            )));
        }
        for target in targets
            .iter()
            .filter(|target| args.asks(&target.info().name))
        {
            if let Some(control) = target.power() {
                let emulated = target.info().profile.is_some();
                energy_sources::add_device(
                    &target.info().name,
                    control,
                    emulated,
                    &root,
                    &mut discovery,
                );
            }
        }
        for name in args.device_meters() {
            select.extend(Select::name(name));
        }
        let discovery = energy_sources::met(discovery, &select)?;
        let machine = match &args.machine {
            Some(name) => Some(MachineProfile::load(name).map_err(Failure::input)?),
            None => fallback(&root, &discovery.meters)?,
        };
        let processor = Processor::of(&root).name;
        let at_home = machine
            .as_ref()
            .is_some_and(|machine| machine.fits(&processor));
        Ok(Sources {
            at_home,
            baseline: baseline(args, &root, &discovery.meters)?,
            meters: discovery.meters,
            machine,
            others: discovery.others,
            filtering: Filtering::of(&root),
        })
    }

    /// For the manifest.
    pub fn note(&self) -> EnergyNote {
        let meter = |about: About| MeterNote {
            name: about.name,
            boundary: about.zone.boundary,
            zone: about.zone.to_string(),
            modelled: about.modelled,
            notes: about.notes,
        };
        let other = |finding: &Finding| NotRead {
            meter: finding.name.clone(),
            why: match &finding.state {
                FindingState::Unreadable { why, .. } | FindingState::Absent { why, .. } => {
                    why.clone()
                }
                FindingState::Unused { why } => why.clone(),
            },
        };
        let baseline = self.baseline.as_ref();
        EnergyNote {
            energy_filtering: Some(self.filtering.to_string()),
            meters: self.meters.about().into_iter().map(meter).collect(),
            not_read: self.others.iter().map(other).collect(),
            idle_baseline: baseline.map(|(baseline, differences)| BaselineNote {
                baseline: baseline.clone(),
                differences: differences.clone(),
            }),
            machine_profile: self.machine.as_ref().map(|machine| machine.name.clone()),
        }
    }
}

/// The idle machine's figures; without a meter there is nothing to take them from.
fn baseline(
    args: &Args,
    root: &Root,
    meters: &Meters,
) -> Result<Option<(Baseline, Vec<String>)>, Failure> {
    let file = args.idle_baseline.as_deref();
    if meters.is_empty() && file.is_none() {
        return Ok(None);
    }
    idle::kept(root, file)
}

/// The machine to model when none was named: this one, where a profile fits it; where nothing
/// measures what the machine draws, one that is like many.
fn fallback(root: &Root, meters: &Meters) -> Result<Option<MachineProfile>, Failure> {
    if let Some(fitting) = MachineProfile::fitting(&Processor::of(root).name) {
        return Ok(Some(fitting));
    }
    let wide = |about: &About| {
        let boundary = about.zone.boundary;
        !about.modelled && !matches!(boundary, Boundary::Dram | Boundary::Device)
    };
    if meters.about().iter().any(wide) {
        return Ok(None);
    }
    let default = MachineProfile::load(MachineProfile::DEFAULT);
    default.map(Some).map_err(Failure::input)
}
