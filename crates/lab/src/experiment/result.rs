//! Results of an experiment.

use super::manifest::Manifest;
use super::missing::MissingRuns;
use joulio_workload::RunResult;
use serde::Serialize;

/// Results of an experiment, as `--output json` prints them.
#[derive(Debug, Serialize)]
pub struct ExperimentResult {
    /// Machine, versions and options: all that is needed beside the figures to repeat and
    /// understand the runs.
    pub manifest: Manifest,
    /// Results of the runs, in their order.
    pub runs: Vec<RunResult>,
    /// Runs that were ended early, or not begun.
    #[serde(skip)]
    pub missing: MissingRuns,
}
