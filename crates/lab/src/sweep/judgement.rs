//! Judgement of a finished sweep: success, or what is wrong with it.

use super::runs::SweepEnd;
use crate::experiment::{BadResults, MissingRuns, judge};
use crate::record::RunRecord;
use crate::results::run_name;
use joulio_workload::{RunResult, Stop};
use std::fmt::{self, Display, Formatter};

/// Reason why a sweep is not a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailedRuns {
    /// Runs failed.
    Failed {
        /// Number of failed runs.
        failed: usize,
        /// Number of all runs.
        of: usize,
        /// Name of the first failed run.
        first: String,
        /// Reason of its failure.
        why: String,
    },
    /// Runs were ended early or not begun; and what is wrong with the others, if anything.
    Missing(String, Option<BadResults>),
    /// Runs read wrong data or had failed I/Os, or no completion mode was available.
    Bad(BadResults),
    /// Records could not be written to the state file, for this reason: make room, and run the same command again.
    Unsaved(String),
    /// Other programs or the machine spoiled runs.
    Spoiled {
        /// Number of spoiled runs.
        spoiled: usize,
        /// Number of all runs.
        of: usize,
        /// Name of the first spoiled run.
        first: String,
        /// Reason why it is spoiled.
        why: String,
    },
}

impl Display for FailedRuns {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            FailedRuns::Failed { of: 0..=1, why, .. } => f.write_str(why),
            FailedRuns::Failed {
                failed,
                of,
                first,
                why,
            } => write!(
                f,
                "{failed} of {of} run(s) failed; the first, {first}: {why}"
            ),
            FailedRuns::Missing(missing, None) => f.write_str(missing),
            FailedRuns::Missing(missing, Some(bad)) => write!(f, "{missing}; {bad}"),
            FailedRuns::Bad(bad) => bad.fmt(f),
            FailedRuns::Unsaved(why) => write!(
                f,
                "{why}: not all runs are in it: make room, and run the same again"
            ),
            FailedRuns::Spoiled {
                spoiled,
                of,
                first,
                why,
            } => write!(
                f,
                "{spoiled} of {of} run(s) spoiled; the first, {first}: {why}"
            ),
        }
    }
}

impl std::error::Error for FailedRuns {}

impl SweepEnd {
    /// Returns an error if runs failed, are missing, have wrong results or were not saved.
    ///
    /// # Errors
    /// The first of these problems.
    pub fn judge(&self, records: &[&RunRecord], stop: &Stop) -> Result<(), FailedRuns> {
        if let Some((first, why)) = self.failed.first() {
            return Err(FailedRuns::Failed {
                failed: self.failed.len(),
                of: records.len(),
                first: first.clone(),
                why: why.clone(),
            });
        }
        let runs: Vec<_> = records.iter().map(|record| record.result.clone()).collect();
        judge_runs(&runs, &self.missing, stop)?;
        match &self.unsaved {
            Some(error) => Err(FailedRuns::Unsaved(error.to_string())),
            None => Ok(()),
        }
    }
}

/// Returns an error if runs are `missing`, or `runs` have wrong results.
///
/// # Errors
/// The first of these problems.
pub fn judge_runs(
    runs: &[RunResult],
    missing: &MissingRuns,
    stop: &Stop,
) -> Result<(), FailedRuns> {
    let judged = judge(runs, stop);
    match missing.summary() {
        None => judged.map_err(FailedRuns::Bad),
        Some(missing) => Err(FailedRuns::Missing(missing, judged.err())),
    }
}

/// Returns an error if runs are spoiled.
///
/// # Errors
/// [`FailedRuns::Spoiled`], with the first spoiled run.
pub fn check_unspoiled(records: &[&RunRecord]) -> Result<(), FailedRuns> {
    let spoiled = records.iter().map(|record| &record.result);
    let spoiled = spoiled.filter_map(|run| run.spoiled.first().map(|first| (run, first)));
    let spoiled: Vec<_> = spoiled.collect();
    match spoiled.first() {
        None => Ok(()),
        Some((run, first)) => Err(FailedRuns::Spoiled {
            spoiled: spoiled.len(),
            of: records.len(),
            first: run_name(run),
            why: first.why.clone(),
        }),
    }
}
