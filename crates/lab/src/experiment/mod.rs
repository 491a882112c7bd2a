//! Experiments: settings x completion modes x repetitions, one after the other, and their results.
//!
//! [`ExperimentOptions`] say what is requested; flags and files make the same ones.
//! [`Experiment::new`] checks what can be checked without a device, [`Experiment::open`] opens
//! devices and meters or makes ready for virtual time, [`OpenExperiment::run`] returns the
//! [`ExperimentResult`] that tables, JSON and reports are made of.

mod energy;
mod error;
mod goal;
mod in_virtual_time;
mod manifest;
mod missing;
mod observer;
mod options;
mod rate_phase;
mod result;
mod settings;
mod testbed;
mod verdict;
mod workload;

pub use crate::manifest_device::ManifestDevice;
pub use energy::{EnergyError, EnergyNote, EnergyOptions, EnergySources};
pub use error::ExperimentError;
pub use goal::{GoalOptions, parse_latency_budget};
pub use manifest::Manifest;
pub use missing::MissingRuns;
pub use observer::Observer;
pub use options::ExperimentOptions;
pub use rate_phase::RatePhase;
pub use result::ExperimentResult;
pub use settings::{ExperimentSettings, SettingCombination, SettingError};
pub use testbed::{Series, SeriesResult, Testbed};
pub use verdict::{BadResults, judge};
pub(crate) use workload::check_cpus;
pub use workload::{RateProcess, WorkloadOptions};

use crate::virtual_time::VirtualExperiment;
use joulio_kernel_io::{Throttled, Throttles};
use joulio_workload::{EngineName, Job, Method, Stop};

/// An experiment whose options make sense; nothing is opened yet.
#[derive(Debug)]
pub struct Experiment {
    options: ExperimentOptions,
    engines: Vec<EngineName>,
    methods: Vec<Method>,
    job: Job,
}

/// An experiment that can be run: on this machine, or in virtual time.
pub struct OpenExperiment<'a> {
    experiment: &'a Experiment,
    place: Place,
}

enum Place {
    Here {
        testbed: Box<Testbed>,
        combinations: Vec<SettingCombination>,
        manifest: Box<Manifest>,
    },
    VirtualTime(Box<VirtualExperiment>),
}

impl Experiment {
    /// Checks what can be checked before anything is opened.
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

    /// What was requested.
    pub fn options(&self) -> &ExperimentOptions {
        &self.options
    }

    /// The job of all runs; one that learns has a longer ramp.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Methods of the runs.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// Opens the devices and the meters, or reads the profiles of virtual time.
    ///
    /// # Errors
    /// A device, a meter, a setting or a profile cannot be had. Nothing was changed.
    pub fn open(&self) -> Result<OpenExperiment<'_>, ExperimentError> {
        let ExperimentOptions {
            targets,
            energy,
            settings,
            ..
        } = &self.options;
        let place = match &self.options.twin {
            Some(twin) => {
                let options = in_virtual_time::options(&self.options, twin)?;
                let methods = self.methods.clone();
                let experiment = VirtualExperiment::new(&options, &self.job, methods)?;
                Place::VirtualTime(Box::new(experiment))
            }
            None => {
                let opened = Testbed::open(targets, energy, &self.job, &self.engines, settings);
                let (testbed, combinations) = opened?;
                Place::Here {
                    manifest: Box::new(testbed.manifest(targets, &self.job)),
                    testbed: Box::new(testbed),
                    combinations,
                }
            }
        };
        Ok(OpenExperiment {
            experiment: self,
            place,
        })
    }
}

impl OpenExperiment<'_> {
    /// Names of the devices.
    pub fn devices(&self) -> Vec<&str> {
        match &self.place {
            Place::Here { testbed, .. } => {
                let targets = testbed.targets().iter();
                targets.map(|target| &*target.info().name).collect()
            }
            Place::VirtualTime(experiment) => {
                let devices = experiment.devices.iter();
                devices.map(|device| &*device.name).collect()
            }
        }
    }

    /// Name of the modelled machine; `None`: the runs are real.
    pub fn modelled_on(&self) -> Option<&str> {
        match &self.place {
            Place::Here { .. } => None,
            Place::VirtualTime(experiment) => Some(&experiment.machine.name),
        }
    }

    /// Does every run. When it is stopped, what came before is the result.
    ///
    /// # Errors
    /// A setting or a run failed, and it was not stopped.
    pub fn run(
        self,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<ExperimentResult, ExperimentError> {
        let Experiment {
            options,
            methods,
            job,
            ..
        } = self.experiment;
        let job_of = |method| options.job_of(job, method);
        let (mut testbed, combinations, mut manifest) = match self.place {
            Place::VirtualTime(experiment) => {
                return Ok(ExperimentResult {
                    runs: experiment.run(job_of)?,
                    manifest: in_virtual_time::manifest(&experiment, job),
                    missing: MissingRuns::default(),
                });
            }
            Place::Here {
                testbed,
                combinations,
                manifest,
            } => (testbed, combinations, *manifest),
        };
        let throttles = Throttles::read(testbed.root());
        let series = Series {
            methods,
            job: &job_of,
            settings: &options.settings,
            combinations: &combinations,
            loops: options.loops,
        };
        let SeriesResult { runs, missing } = testbed.run(&series, stop, observer)?;
        manifest.interrupted = stop.stopped();
        manifest.not_run = missing.not_run.clone();
        manifest.throttled = Throttled::between(&throttles, &Throttles::read(testbed.root()));
        if manifest.throttled == Throttled::Yes {
            observer.note(
                "CPUs were throttled for their temperature during the runs: the figures are lower than the machine's",
            );
        }
        Ok(ExperimentResult {
            manifest,
            runs,
            missing,
        })
    }
}
