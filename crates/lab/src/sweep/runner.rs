//! Executors of runs: this machine, or virtual time.

use super::options::SweepOptions;
use super::order::PlannedRun;
use crate::experiment::{ExperimentError, Observer};
use crate::record::Platform;
use joulio_workload::RunResult;
use std::collections::BTreeMap;

/// Executor of runs: this machine, or virtual time.
pub trait Runner {
    /// Returns the options of the sweep.
    fn options(&self) -> &SweepOptions;

    /// Executes `run`.
    ///
    /// # Errors
    /// [`RunFailure`], which tells whether other runs can go on.
    fn run(&mut self, run: &PlannedRun, observer: &dyn Observer) -> Result<RunResult, RunFailure>;

    /// Returns the name of the machine on which the runs are done.
    fn machine(&self) -> String;

    /// Returns the platform of `run`.
    fn platform(&self, run: &PlannedRun) -> Platform;

    /// Returns the last measured watts of the idle machine by meter; empty if they were not measured.
    fn idle_watts(&self) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }
}

/// Reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// The devices or the machine do not support the run: nothing was done.
    #[error("{0}")]
    Unfit(String),
    /// The run failed after it had begun, for example because a device vanished; other runs may succeed.
    #[error("{0}")]
    Failed(String),
    /// Settings could not be made or restored: no other run may be done.
    #[error(transparent)]
    Fatal(#[from] ExperimentError),
}
