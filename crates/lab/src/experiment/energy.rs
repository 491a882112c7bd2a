//! Sources of an experiment's energy figures: the meters that can be read, and the model if there is none.

use crate::idle::{IdleError, idle_baseline};
use crate::meters::{MetersError, root};
use joulio_emulator::FaultPlan;
use joulio_energy::{
    About, Baseline, Boundary, Filtering, FindingState, MeterFinding, Meters, Processor, Root,
    Select,
};
use joulio_host::energy_sources::{add_device, check, found, met, select};
use joulio_model::{MachineProfile, ProfileError};
use joulio_workload::Target;
use serde::Serialize;
use std::path::PathBuf;

/// Prefix of the names of meters in devices.
const DEVICE_METER: &str = "nvme:";

/// Reason why energy figures are unavailable.
#[derive(Debug, thiserror::Error)]
pub enum EnergyError {
    /// The words do not select meters, or the captured tree is not a folder.
    #[error(transparent)]
    Meters(#[from] MetersError),
    /// The meter's device is not a target of the experiment.
    #[error("--meter: there is no {0}: the devices' meters are nvme:DEVICE, as --device has it")]
    NoDevice(String),
    /// No profile of that machine.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The idle baseline cannot be read.
    #[error(transparent)]
    Baseline(#[from] IdleError),
}

/// Options for energy figures.
#[derive(Clone, Debug, Default)]
pub struct EnergyOptions {
    /// Words that select meters; empty: every meter that can be read.
    pub meters: Vec<String>,
    /// File of the idle baseline; `None`: the default file, if it exists.
    pub idle_baseline: Option<PathBuf>,
    /// Machine whose watts the model uses: a name, or a path to a .toml file; `None`: the one that fits this processor.
    pub machine: Option<String>,
    /// Folder of a captured file tree to read meters from; `None`: this machine's.
    pub root: Option<PathBuf>,
}

/// Opened sources of an experiment's energy figures.
pub struct EnergySources {
    /// Meters that are read in every run.
    pub meters: Meters,
    /// Baseline of the idle machine, and differences of the machine since it was measured.
    pub baseline: Option<(Baseline, Vec<String>)>,
    /// Machine whose watts the model uses; `None`: the model is not used.
    pub machine: Option<MachineProfile>,
    /// True if `machine` describes this machine.
    pub at_home: bool,
    others: Vec<MeterFinding>,
    /// Reason why the default idle baseline cannot be used.
    no_baseline: Option<String>,
    filtering: Filtering,
}

/// The `energy` of a manifest.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnergyNote {
    /// Noise that the processor adds to its counters; `None` in virtual time.
    energy_filtering: Option<String>,
    meters: Vec<MeterNote>,
    /// Meters that are not read, and why; `idle baseline`: the usual one, which is of no use.
    not_read: Vec<NotRead>,
    idle_baseline: Option<BaselineNote>,
    /// Machine of the model; `None`: it was not used.
    machine_profile: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MeterNote {
    name: String,
    boundary: Boundary,
    zone: String,
    modelled: bool,
    notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct NotRead {
    meter: String,
    why: String,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct BaselineNote {
    #[serde(flatten)]
    baseline: Baseline,
    /// Settings that are not as they were then.
    differences: Vec<String>,
}

impl EnergyNote {
    /// Returns the note for virtual time with the machine profile `machine`.
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

impl EnergySources {
    /// Opens the meters of the machine and of the devices `targets`. If `faults` injects any, meters in devices are not
    /// read.
    ///
    /// # Errors
    /// A selected meter is unavailable, or a file cannot be read.
    pub fn open(
        options: &EnergyOptions,
        faults: &FaultPlan,
        targets: &[Box<dyn Target>],
    ) -> Result<EnergySources, EnergyError> {
        let root = root(options.root.as_deref())?;
        check(&options.meters).map_err(MetersError::from)?;
        let mut select = select(&options.machine_meters()).map_err(MetersError::from)?;
        let mut discovery = found(&root, &select).map_err(MetersError::from)?;
        if let Some(word) = options.unknown_device(targets) {
            return Err(EnergyError::NoDevice(word.clone()));
        }
        let infos = targets.iter().map(|target| (target, target.info()));
        for (target, info) in infos.filter(|(_, info)| options.asks(&info.name, faults)) {
            if let Some(control) = target.power() {
                add_device(&info.name, control, &root, &mut discovery);
            }
        }
        for name in options.device_meters() {
            select.extend(Select::name(name));
        }
        let discovery = met(discovery, &select).map_err(MetersError::from)?;
        let machine = match &options.machine {
            Some(name) => Some(MachineProfile::load(name)?),
            None => fallback(&root, &discovery.meters)?,
        };
        let processor = Processor::of(&root).name;
        let at_home = machine
            .as_ref()
            .is_some_and(|machine| machine.fits(&processor));
        let mut no_baseline = None;
        let baseline = match (&options.idle_baseline, discovery.meters.is_empty()) {
            // A baseline is of no use without meters.
            (None, true) => None,
            (Some(file), _) => idle_baseline(&root, Some(file))?,
            // The default file may not stop a run: a home directory may be shared by several machines.
            (None, false) => idle_baseline(&root, None).unwrap_or_else(|why| {
                no_baseline = Some(why.to_string());
                None
            }),
        };
        Ok(EnergySources {
            at_home,
            baseline,
            no_baseline,
            meters: discovery.meters,
            machine,
            others: discovery.others,
            filtering: Filtering::of(&root),
        })
    }

    /// Returns the note of these sources for a manifest.
    pub fn note(&self) -> EnergyNote {
        let meter = |about: About| MeterNote {
            name: about.name,
            boundary: about.zone.boundary,
            zone: about.zone.to_string(),
            modelled: about.modelled,
            notes: about.notes,
        };
        let other = |finding: &MeterFinding| NotRead {
            meter: finding.name.clone(),
            why: match &finding.state {
                FindingState::Unreadable { why, .. }
                | FindingState::Absent { why, .. }
                | FindingState::Unused { why } => why.clone(),
            },
        };
        let baseline = self.baseline.as_ref();
        let no_baseline = self.no_baseline.iter().map(|why| NotRead {
            meter: "idle baseline".into(),
            why: why.clone(),
        });
        EnergyNote {
            energy_filtering: Some(self.filtering.to_string()),
            meters: self.meters.about().into_iter().map(meter).collect(),
            not_read: self.others.iter().map(other).chain(no_baseline).collect(),
            idle_baseline: baseline.map(|(baseline, differences)| BaselineNote {
                baseline: baseline.clone(),
                differences: differences.clone(),
            }),
            machine_profile: self.machine.as_ref().map(|machine| machine.name.clone()),
        }
    }
}

impl EnergyOptions {
    /// Returns true if the meter in the device `name` is selected. It is not read if faults are injected, because the
    /// reading could fail as well.
    fn asks(&self, name: &str, faults: &FaultPlan) -> bool {
        let chosen = |word: &String| match word.strip_prefix(DEVICE_METER) {
            Some(named) => named == name,
            None => matches!(word.as_str(), "all" | "nvme" | "device"),
        };
        let chosen = self.meters.is_empty() || self.meters.iter().any(chosen);
        chosen && faults.is_empty()
    }

    /// Returns a word that names a meter in a device that is not among `targets`.
    fn unknown_device(&self, targets: &[Box<dyn Target>]) -> Option<&String> {
        self.meters.iter().find(|word| {
            let named = word.strip_prefix(DEVICE_METER);
            named.is_some_and(|named| !targets.iter().any(|target| target.info().name == *named))
        })
    }

    /// Returns the words that name meters in devices.
    fn device_meters(&self) -> impl Iterator<Item = &String> {
        let words = self.meters.iter();
        words.filter(|word| word.starts_with(DEVICE_METER))
    }

    /// Returns these options for a time in which no device is open: without the words that select meters in devices.
    pub(crate) fn without_devices(&self) -> EnergyOptions {
        let mut meters = self.machine_meters();
        meters.retain(|word| !matches!(word.as_str(), "nvme" | "device"));
        if meters.is_empty() && !self.meters.is_empty() {
            meters.push("none".into());
        }
        EnergyOptions {
            meters,
            ..self.clone()
        }
    }

    /// Returns the words that select meters of the machine itself.
    pub(crate) fn machine_meters(&self) -> Vec<String> {
        let own = |word: &&String| !word.starts_with(DEVICE_METER);
        let own: Vec<_> = self.meters.iter().filter(own).cloned().collect();
        match own.is_empty() && !self.meters.is_empty() {
            true => vec!["none".into()],
            false => own,
        }
    }
}

/// Returns the machine to model if none was named: the one whose profile fits this processor, otherwise a typical one,
/// but only if no meter measures the machine's power.
fn fallback(root: &Root, meters: &Meters) -> Result<Option<MachineProfile>, ProfileError> {
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
    MachineProfile::load(MachineProfile::DEFAULT).map(Some)
}
