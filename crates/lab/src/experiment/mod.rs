//! Experiments: settings x completion modes x repetitions, one after the other, and their results.
//!
//! [`ExperimentOptions`] say what is requested; flags and files make the same ones.
//! [`Experiment::new`] checks what can be checked without a device, a [`Testbed`] is the devices and
//! meters that it is run on, opened. [`crate::sweep`] does many.

pub(crate) mod cpus;
mod energy;
mod error;
mod goal;
mod in_virtual_time;
mod io_logs;
mod manifest;
mod missing;
mod neighbours;
mod numa;
mod observer;
mod options;
mod rate_phase;
mod settings;
mod testbed;
mod verdict;
mod workload;

pub use crate::manifest_device::ManifestDevice;
pub(crate) use cpus::check_cpus;
pub use energy::{EnergyError, EnergyNote, EnergyOptions, EnergySources};
pub use error::ExperimentError;
pub use goal::{GoalOptions, parse_latency_budget};
pub use io_logs::IoLogs;
pub use manifest::Manifest;
pub use missing::{MissingRuns, run_name};
pub use neighbours::Neighbours;
pub use observer::Observer;
pub(crate) use observer::Silent;
pub use options::ExperimentOptions;
pub use rate_phase::RatePhase;
pub use settings::{ExperimentSettings, SettingCombination, SettingError};
pub use testbed::{Series, SeriesResult, Testbed};
pub use verdict::{BadResults, judge};
pub use workload::{RateProcess, WorkloadOptions};

use crate::virtual_time::{TwinOptions, VirtualExperiment};
use joulio_workload::{EngineName, Job, Method};

/// An experiment whose options make sense; nothing is opened yet.
#[derive(Debug)]
pub struct Experiment {
    options: ExperimentOptions,
    engines: Vec<EngineName>,
    methods: Vec<Method>,
    job: Job,
}

impl Experiment {
    /// Checks what can be checked before anything is opened. Options of io_uring need it among the
    /// engines.
    ///
    /// # Errors
    /// An option makes no sense, or does not go with another.
    pub fn new(options: ExperimentOptions) -> Result<Experiment, ExperimentError> {
        in_virtual_time::check(&options)?;
        let job = options.job()?;
        let engines = options.engines()?;
        let methods = options.methods(&engines);
        let modes = methods.iter().map(|method| method.mode);
        options.workload.goal.check(modes)?;
        if options.twin.is_none() {
            check_cpus(&job.cpus_allowed)?;
            options.check_ring(&engines)?;
        }
        Ok(Experiment {
            options,
            engines,
            methods,
            job,
        })
    }

    /// The options, completed.
    pub fn options(&self) -> &ExperimentOptions {
        &self.options
    }

    /// Returns the job of all runs; for a completion mode that learns, [`Experiment::job_of`] has a longer ramp.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Methods of the runs.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// Engines of the runs.
    pub fn engines(&self) -> &[EngineName] {
        &self.engines
    }

    /// Returns the job for `method`; a method that learns has a longer ramp.
    pub fn job_of(&self, method: Method) -> Job {
        self.options.job_of(&self.job, method)
    }

    /// The experiment in virtual time.
    ///
    /// # Errors
    /// It is not modelled, or it is none in virtual time.
    pub fn in_virtual_time(&self) -> Result<VirtualExperiment, ExperimentError> {
        let usual = TwinOptions::default();
        let twin = self.options.twin.as_ref().unwrap_or(&usual);
        let options = in_virtual_time::options(&self.options, twin)?;
        let methods = self.methods.clone();
        Ok(VirtualExperiment::new(&options, &self.job, methods)?)
    }
}
