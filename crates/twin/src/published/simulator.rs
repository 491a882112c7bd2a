//! Simulates the runs that published numbers are about, each once.

use super::{FieldError, Paper, ProfileField, RunSpec};
use crate::{TwinError, TwinRun, run_policy};
use joulio_job::Metric;
use joulio_model::{DeviceProfile, MachineProfile, ProfileError};
use joulio_wait::AnyPolicy;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::rc::Rc;
use toml::Value;

/// Why a published run cannot be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The twin cannot simulate the run.
    #[error("run '{run}': {error}")]
    Twin {
        /// The run.
        run: String,
        /// Why.
        error: TwinError,
    },
    /// A profile is missing, or is invalid after a change.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A profile has no such figure.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A profile cannot be changed.
    #[error("profile '{profile}' cannot be changed: {problem}")]
    Change {
        /// The profile.
        profile: String,
        /// Why.
        problem: String,
    },
    /// A number or a claim names a run that no file describes.
    #[error("no run is called '{0}'")]
    Run(String),
    /// A run did no I/O that the metric needs.
    #[error("run '{0}' did no I/O")]
    Empty(String),
    /// A number refers to a number that does not exist, or to a wrong number of runs to compare with.
    #[error("{0}")]
    Data(String),
}

/// Profiles by name: those that come with joulio, those of a folder, and changed ones.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    machines: HashMap<String, Rc<MachineProfile>>,
    devices: HashMap<String, Rc<DeviceProfile>>,
}

impl Profiles {
    /// Reads the profiles `folder/machines/NAME.toml` and `folder/devices/NAME.toml`, which replace those called
    /// NAME that come with joulio.
    ///
    /// # Errors
    /// [`ProfileError`], if a file cannot be read or is not a profile.
    pub fn read(folder: &Path) -> Result<Profiles, ProfileError> {
        Ok(Profiles {
            machines: of_folder(&folder.join("machines"), MachineProfile::load)?,
            devices: of_folder(&folder.join("devices"), DeviceProfile::load)?,
        })
    }

    /// Returns the machine's profile called `name`.
    ///
    /// # Errors
    /// [`SimulationError::Profile`], if no profile has the name.
    pub fn machine(&mut self, name: &str) -> Result<Rc<MachineProfile>, SimulationError> {
        if let Some(known) = self.machines.get(name) {
            return Ok(known.clone());
        }
        let new = Rc::new(MachineProfile::builtin(name)?);
        self.machines.insert(name.to_owned(), new.clone());
        Ok(new)
    }

    /// Returns the device's profile called `name`.
    ///
    /// # Errors
    /// [`SimulationError::Profile`], if no profile has the name.
    pub fn device(&mut self, name: &str) -> Result<Rc<DeviceProfile>, SimulationError> {
        if let Some(known) = self.devices.get(name) {
            return Ok(known.clone());
        }
        let new = Rc::new(DeviceProfile::builtin(name)?);
        self.devices.insert(name.to_owned(), new.clone());
        Ok(new)
    }

    /// Returns the figure at `field`.
    ///
    /// # Errors
    /// [`SimulationError`], if the profile or the figure does not exist.
    pub fn figure(
        &mut self,
        field: &ProfileField,
    ) -> Result<joulio_model::Figure, SimulationError> {
        let values = if field.machine {
            values(&*self.machine(&field.profile)?, field)?
        } else {
            values(&*self.device(&field.profile)?, field)?
        };
        Ok(field.get(&values)?)
    }

    /// Gives machine `name` the `[costs]` of machine `other`, except for its own number of threads per core,
    /// and its own costs of features that the processor of `other` lacks.
    ///
    /// # Errors
    /// [`SimulationError::Profile`], if no profile has one of the names.
    pub fn take_costs(&mut self, name: &str, other: &str) -> Result<(), SimulationError> {
        let mut costs = self.machine(other)?.costs.clone();
        let machine = MachineProfile::clone(&*self.machine(name)?);
        if let (Some(new), Some(own)) = (&mut costs, &machine.costs) {
            new.threads_per_core = own.threads_per_core.clone();
            let own_interrupt = || own.user_interrupt_ns.clone();
            new.user_interrupt_ns = new.user_interrupt_ns.take().or_else(own_interrupt);
            let own_exit = || own.pause_exit_ns.clone();
            new.pause_exit_ns = new.pause_exit_ns.take().or_else(own_exit);
        }
        let machine = Rc::new(MachineProfile { costs, ..machine });
        self.machines.insert(name.to_owned(), machine);
        Ok(())
    }

    /// Sets the figure at `field`, without checking that the figures of the profile are consistent: a search passes
    /// through values that are not.
    ///
    /// # Errors
    /// [`SimulationError`], if the profile or the figure does not exist, or cannot be changed.
    pub fn set(&mut self, field: &ProfileField, to: f64) -> Result<(), SimulationError> {
        if field.machine {
            let machine: MachineProfile = changed(&*self.machine(&field.profile)?, field, to)?;
            self.machines
                .insert(field.profile.clone(), Rc::new(machine));
        } else {
            let device: DeviceProfile = changed(&*self.device(&field.profile)?, field, to)?;
            self.devices.insert(field.profile.clone(), Rc::new(device));
        }
        Ok(())
    }
}

/// Reads the profiles in the `.toml` files of `folder`, by the files' names; returns none if the folder does not
/// exist.
fn of_folder<P>(
    folder: &Path,
    load: fn(&str) -> Result<P, ProfileError>,
) -> Result<HashMap<String, Rc<P>>, ProfileError> {
    let unreadable = |source| ProfileError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let mut found = HashMap::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(found),
        entries => entries.map_err(unreadable)?,
    };
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if let (Some(name), Some("toml")) = (
            path.file_stem().and_then(OsStr::to_str),
            path.extension().and_then(OsStr::to_str),
        ) {
            let profile = load(&path.to_string_lossy())?;
            found.insert(name.to_owned(), Rc::new(profile));
        }
    }
    Ok(found)
}

fn values(profile: &impl Serialize, field: &ProfileField) -> Result<Value, SimulationError> {
    Value::try_from(profile).map_err(|error| SimulationError::Change {
        profile: field.profile.clone(),
        problem: error.to_string(),
    })
}

fn changed<P: Serialize + DeserializeOwned>(
    profile: &P,
    field: &ProfileField,
    to: f64,
) -> Result<P, SimulationError> {
    let mut values = values(profile, field)?;
    field.set(&mut values, to)?;
    values.try_into().map_err(|error| SimulationError::Change {
        profile: field.profile.clone(),
        problem: error.to_string(),
    })
}

/// Seed of every run: all methods that are compared run on the same device.
const SEED: u64 = 22;

/// Simulates runs by name, each once, and keeps their results.
#[derive(Debug)]
pub struct Simulator {
    specs: HashMap<String, RunSpec>,
    simulated: HashMap<String, Rc<TwinRun>>,
    /// The profiles on which runs are simulated.
    profiles: Profiles,
    ios: u64,
}

impl Simulator {
    /// Creates a simulator of the runs of `papers`, each with `ios` I/Os unless the run has a length of its own.
    pub fn new(papers: &[Paper], profiles: Profiles, ios: u64) -> Simulator {
        let specs = papers.iter().flat_map(|paper| &paper.run);
        Simulator {
            specs: specs
                .map(|spec| (spec.name.clone(), spec.clone()))
                .collect(),
            simulated: HashMap::new(),
            profiles,
            ios,
        }
    }

    /// Returns the profiles in their present state.
    pub fn profiles(&mut self) -> &mut Profiles {
        &mut self.profiles
    }

    /// Sets a figure, and discards the results of the runs on its profile.
    ///
    /// # Errors
    /// As [`Profiles::set`].
    pub fn set(&mut self, field: &ProfileField, to: f64) -> Result<(), SimulationError> {
        self.profiles.set(field, to)?;
        let specs = &self.specs;
        self.simulated.retain(|name, _| {
            let spec = &specs[name];
            let on = if field.machine {
                &spec.machine
            } else {
                &spec.device
            };
            *on != field.profile
        });
        Ok(())
    }

    /// Returns the run called `name`.
    ///
    /// # Errors
    /// [`SimulationError`], if the run does not exist or cannot be simulated.
    pub fn run(&mut self, name: &str) -> Result<Rc<TwinRun>, SimulationError> {
        if let Some(known) = self.simulated.get(name) {
            return Ok(known.clone());
        }
        let spec = self.spec(name)?.clone();
        let machine = self.profiles.machine(&spec.machine)?;
        let device = self.profiles.device(&spec.device)?;
        let devices = vec![DeviceProfile::clone(&device); spec.devices.max(1)];
        let job = spec.job(self.ios, SEED);
        let policy = |_| spec.policy.policy().unwrap_or(AnyPolicy::POLL);
        let setup = spec.setup(&machine, &devices);
        let done = run_policy(&job, spec.method(), &setup, policy);
        let done = Rc::new(done.map_err(|error| SimulationError::Twin {
            run: name.to_owned(),
            error,
        })?);
        self.simulated.insert(name.to_owned(), done.clone());
        Ok(done)
    }

    /// Returns the description of the run called `name`.
    ///
    /// # Errors
    /// [`SimulationError::Run`], if no run has the name.
    pub fn spec(&self, name: &str) -> Result<&RunSpec, SimulationError> {
        self.specs
            .get(name)
            .ok_or_else(|| SimulationError::Run(name.to_owned()))
    }

    /// Returns the value of `metric` in the run called `name`.
    ///
    /// # Errors
    /// [`SimulationError`], if the run does not exist, cannot be simulated, or did no I/O.
    pub fn metric(&mut self, name: &str, metric: Metric) -> Result<f64, SimulationError> {
        let run = self.run(name)?;
        let value = metric.of(&run.result).map(|value| value.value);
        value.ok_or_else(|| SimulationError::Empty(name.to_owned()))
    }
}
