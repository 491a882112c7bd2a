//! Runs of a sweep in virtual time.

use super::beside_error::BesideError;
use super::options::{SweepOptions, SweepOptionsError};
use super::order::PlannedRun;
use super::runner::{RunFailure, Runner};
use crate::experiment::{EnergyNote, ExperimentError, Manifest, Observer};
use crate::machine_profile;
use crate::record::Platform;
use crate::virtual_time::VirtualError;
use joulio_model::MachineProfile;
use joulio_twin::TwinError;
use joulio_workload::{RunResult, Stop};

/// Runner in virtual time, on a machine that has a profile.
pub struct VirtualRunner<'a> {
    options: &'a SweepOptions,
    machine: MachineProfile,
    /// Ends a run early.
    stop: &'a Stop,
}

impl<'a> VirtualRunner<'a> {
    /// Creates a runner on the machine of `options`: the named one, the one that fits this processor, or a generic
    /// server. `stop` ends runs early.
    ///
    /// # Errors
    /// There is no profile of that machine.
    pub fn new(
        options: &'a SweepOptions,
        stop: &'a Stop,
    ) -> Result<VirtualRunner<'a>, SweepOptionsError> {
        let machine = machine_profile(options.base.energy.machine.as_deref());
        let machine = machine.map_err(|why| ExperimentError::from(VirtualError::from(why)))?;
        Ok(VirtualRunner {
            options,
            machine,
            stop,
        })
    }

    /// Returns the name of the machine.
    pub fn machine_name(&self) -> &str {
        &self.machine.name
    }

    /// Checks that all of `runs` can be simulated; returns the manifest of all.
    ///
    /// # Errors
    /// A run, a setting or a device is not modelled, or a profile is missing.
    pub fn check(&self, runs: &[PlannedRun]) -> Result<Manifest, SweepOptionsError> {
        if !self.options.beside.is_empty() {
            return Err(BesideError::VirtualTime.into());
        }
        let note = EnergyNote::modelled(&self.machine);
        let mut manifest: Option<Manifest> = None;
        // Repetitions differ in nothing that is checked.
        let first = runs.iter().map(|run| run.replicate).min();
        for run in runs.iter().filter(|run| Some(run.replicate) == first) {
            let experiment = self.options.experiment(run)?;
            let devices = experiment.in_virtual_time()?.devices;
            let one = Manifest::modelled(&[experiment.job()], devices, note.clone());
            match &mut manifest {
                None => manifest = Some(one),
                Some(manifest) => manifest.add_devices(one),
            }
        }
        let none = || self.options.base.job().map_err(ExperimentError::from);
        Ok(match manifest {
            Some(manifest) => manifest,
            None => Manifest::modelled(&[&none()?], Vec::new(), note),
        })
    }

    /// Simulates `run`.
    ///
    /// # Errors
    /// The run cannot be modelled, or was stopped.
    pub fn simulate(&self, run: &PlannedRun) -> Result<RunResult, SweepOptionsError> {
        let experiment = self.options.experiment(run)?;
        let simulated = experiment.in_virtual_time()?;
        let results = simulated.run(self.stop, |method| experiment.job_of(method));
        let mut results = results.map_err(ExperimentError::from)?;
        let none = || ExperimentError::from(VirtualError::Twin(TwinError::NoDevice));
        Ok(results.pop().ok_or_else(none)?)
    }
}

impl Runner for VirtualRunner<'_> {
    fn options(&self) -> &SweepOptions {
        self.options
    }

    fn run(&mut self, run: &PlannedRun, _: &dyn Observer) -> Result<RunResult, RunFailure> {
        Ok(self.simulate(run)?)
    }

    fn machine(&self) -> String {
        self.machine.name.clone()
    }

    fn platform(&self, _: &PlannedRun) -> Platform {
        Platform::Twin
    }
}
