//! Experiments: settings x completion modes x repetitions, one after the other, and their results.

mod energy;
mod manifest;
mod missing;
mod settings;
mod verdict;

pub use energy::{EnergyError, EnergyNote, EnergyOptions, EnergySources};
pub use manifest::{Manifest, ManifestDevice};
pub use missing::MissingRuns;
pub use settings::{ExperimentSettings, SettingCombination, SettingError};
pub use verdict::{BadResults, judge};

use joulio_energy::{Baseline, Meters};
use joulio_host::ChangeError;
use joulio_host::knobs::KnobError;
use joulio_model::MachineProfile;
use joulio_twin::TwinSetup;
use joulio_workload::{Job, Method, RunError, RunResult, Setup, Stop, Target, run};
use std::path::Path;

/// An experiment: everything that all its runs have in common.
pub struct Experiment<'a> {
    /// The devices.
    pub targets: &'a [Box<dyn Target>],
    /// Methods, each of which is run under every combination of settings.
    pub methods: &'a [Method],
    /// The job as a method does it: one that learns has a longer ramp.
    pub job: &'a dyn Fn(Method) -> Job,
    /// Settings of the machine.
    pub settings: &'a ExperimentSettings,
    /// Repetitions of all runs, in turn.
    pub loops: u32,
    /// Machine whose watts the energy model uses.
    pub machine: Option<&'a MachineProfile>,
    /// True if that machine is this one.
    pub at_home: bool,
    /// Energy of the idle machine.
    pub baseline: Option<&'a Baseline>,
    /// Flag that ends the experiment early.
    pub stop: &'a Stop,
    /// Folder of the tree that counters and meters are read from.
    pub root: &'a Path,
}

/// Observer of an experiment: receives its runs, their progress, and notes.
pub trait Observer: Sync {
    /// A run begins.
    fn begin(&self, method: Method, job: &Job);

    /// `fraction` of the run is over.
    fn progress(&self, fraction: f64);

    /// The run has ended.
    fn end(&self);

    /// Something that the user has to know, as a line.
    fn note(&self, line: &str);
}

/// Results of an experiment.
#[derive(Debug, Default)]
pub struct ExperimentResult {
    /// Results of the runs, in their order.
    pub runs: Vec<RunResult>,
    /// Runs that were ended early, or not begun.
    pub missing: MissingRuns,
}

/// Why an experiment ended.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A setting of the machine cannot be had.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The CPUs' latency cannot be held.
    #[error(transparent)]
    Latency(#[from] KnobError),
    /// A setting could not be made, or not be put back.
    #[error(transparent)]
    Change(#[from] Box<ChangeError>),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl ExperimentError {
    /// True if nothing was done, and nothing is left changed.
    pub fn is_refusal(&self) -> bool {
        match self {
            ExperimentError::Setting(_) | ExperimentError::Latency(_) => true,
            ExperimentError::Change(error) => !error.leaves_changes(),
            ExperimentError::Run(error) => matches!(error, RunError::Job(_)),
        }
    }
}

impl Experiment<'_> {
    /// Does every run, read by `meters`. When it is stopped, what came before is the result.
    ///
    /// # Errors
    /// A setting or a run failed, and it was not stopped.
    pub fn run(
        &self,
        combinations: &[SettingCombination],
        meters: &mut Meters,
        observer: &dyn Observer,
    ) -> Result<ExperimentResult, ExperimentError> {
        let _latency = self.settings.hold_latency()?;
        let mut result = ExperimentResult::default();
        let missing = &mut result.missing;
        for number in 1..=self.loops {
            for combination in combinations {
                for &method in self.methods {
                    let repetition = (number, self.loops);
                    if self.stop.stopped() {
                        missing.not_run(method, combination, repetition);
                        continue;
                    }
                    let mut run = match self.one(combination, method, meters, observer) {
                        Ok(run) => run,
                        // What came before it is a result all the same.
                        Err(why) if self.stop.is_requested() => {
                            missing.lost(method, combination, repetition, &why.to_string());
                            continue;
                        }
                        Err(why) => return Err(why),
                    };
                    run.settings.extend(self.settings.held());
                    if run.interrupted {
                        missing.cut_short(method, combination, repetition);
                    }
                    result.runs.push(run);
                }
            }
        }
        Ok(result)
    }

    /// One run, under settings that are put back after it, whatever comes.
    fn one(
        &self,
        combination: &SettingCombination,
        method: Method,
        meters: &mut Meters,
        observer: &dyn Observer,
    ) -> Result<RunResult, ExperimentError> {
        let changes = combination.apply(method, self.targets, |line| observer.note(line))?;
        let job = (self.job)(method);
        observer.begin(method, &job);
        // A profile without costs leaves those of a generic server.
        let wait_costs = self.machine.and_then(|machine| {
            let setup = TwinSetup::new(machine, &[]);
            joulio_twin::wait_costs(&job, method, &setup).ok()
        });
        let setup = Setup {
            targets: self.targets,
            machine: self.machine,
            at_home: self.at_home,
            baseline: self.baseline,
            stop: self.stop,
            root: self.root,
            progress: &|fraction| observer.progress(fraction),
            wait_costs: wait_costs.as_ref(),
            trace: None,
        };
        let result = run(&job, method, &setup, meters);
        observer.end();
        for note in changes.finish().map_err(Box::new)? {
            observer.note(&note);
        }
        let mut result = result?;
        result.settings = combination.values.clone();
        Ok(result)
    }
}
