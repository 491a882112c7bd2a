//! Executors of runs: this machine, or virtual time.

use super::options::SweepOptions;
use super::order::PlannedRun;
use crate::experiment::{ExperimentError, Observer};
use crate::record::Platform;
use joulio_workload::RunResult;
use std::collections::BTreeMap;

/// Something that does runs: this machine, or virtual time.
pub trait Runner {
    /// The sweep that the runs are of.
    fn options(&self) -> &SweepOptions;

    /// Executes `run`.
    ///
    /// # Errors
    /// [`RunFailure`], which says whether the other runs can go on.
    fn run(&mut self, run: &PlannedRun, observer: &dyn Observer) -> Result<RunResult, RunFailure>;

    /// Name of the machine that the runs are done on.
    fn machine(&self) -> String;

    /// Platform of `run`.
    fn platform(&self, run: &PlannedRun) -> Platform;

    /// Watts of the idle machine by meter, as they were last measured; none if they were not.
    fn idle_watts(&self) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }
}

/// A run without a result.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// The devices or the machine cannot do it: nothing was done.
    #[error("{0}")]
    Unfit(String),
    /// The run was begun and failed, as when a device vanishes; others may succeed.
    #[error("{0}")]
    Failed(String),
    /// Settings could not be made or not be put back: no other run may be done.
    #[error(transparent)]
    Fatal(#[from] ExperimentError),
}
