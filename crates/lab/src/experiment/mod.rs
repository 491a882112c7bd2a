//! Experiments: runs for every combination of settings and completion modes, repeated, one after the other.
//!
//! [`ExperimentOptions`] describe the request, from flags or from a file. [`Experiment::new`] checks all that can be
//! checked without a device. A [`Testbed`] has the opened devices and meters to run it on. [`crate::sweep`] runs many
//! experiments.

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
pub use io_logs::{IoLogError, IoLogs};
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

/// An experiment with valid options; nothing is opened yet.
#[derive(Debug)]
pub struct Experiment {
    options: ExperimentOptions,
    engines: Vec<EngineName>,
    methods: Vec<Method>,
    job: Job,
}

impl Experiment {
    /// Checks the options as far as possible before anything is opened. Options of io_uring require that engine.
    ///
    /// # Errors
    /// An option is not valid, or conflicts with another.
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

    /// Returns the options, with defaults filled in.
    pub fn options(&self) -> &ExperimentOptions {
        &self.options
    }

    /// Returns the job of all runs. A mode that learns needs a longer ramp: see [`Experiment::job_of`].
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Returns the methods of the runs.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// Returns the engines of the runs.
    pub fn engines(&self) -> &[EngineName] {
        &self.engines
    }

    /// Returns the job for `method`, with a longer ramp if the method learns.
    pub fn job_of(&self, method: Method) -> Job {
        self.options.job_of(&self.job, method)
    }

    /// Returns this experiment in virtual time.
    ///
    /// # Errors
    /// The experiment cannot be modelled, or its options have no meaning in virtual time.
    pub fn in_virtual_time(&self) -> Result<VirtualExperiment, ExperimentError> {
        let usual = TwinOptions::default();
        let twin = self.options.twin.as_ref().unwrap_or(&usual);
        let options = in_virtual_time::options(&self.options, twin)?;
        let methods = self.methods.clone();
        Ok(VirtualExperiment::new(&options, &self.job, methods)?)
    }
}
