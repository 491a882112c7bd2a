//! The end of a bench: whether its runs are a success.

use crate::Outcome;
use crate::failure::Failure;
use joulio_lab::experiment::{MissingRuns, judge as judge_results};
use joulio_lab::record::RunRecord;
use joulio_lab::results::run_name;
use joulio_lab::sweep::SweepEnd;
use joulio_workload::{RunResult, Stop};

/// Returns what failed, what is missing, and what is wrong with the rest.
pub fn judge(end: &SweepEnd, records: &[&RunRecord], stop: &Stop) -> Outcome {
    let runs: Vec<_> = records.iter().map(|record| record.result.clone()).collect();
    if let Some((name, why)) = end.failed.first() {
        let several = runs.len() > 1;
        return Err(Failure::run(match several {
            true => format!(
                "{} of {} run(s) failed; the first, {name}: {why}",
                end.failed.len(),
                runs.len()
            ),
            false => why.clone(),
        })
        .after_signal());
    }
    verdict(&runs, &end.missing, stop)?;
    saved(end)
}

/// Refuses runs that are not all in the state file.
pub fn saved(end: &SweepEnd) -> Outcome {
    match &end.unsaved {
        Some(error) => Err(Failure::run(format!(
            "{error}: not all runs are in it: make room, and run the same again"
        ))),
        None => Ok(()),
    }
}

/// Returns what is missing, and what is wrong with the rest.
pub fn verdict(runs: &[RunResult], missing: &MissingRuns, stop: &Stop) -> Outcome {
    let judged = judge_results(runs, stop);
    match (missing.summary(), judged) {
        (None, judged) => judged.map_err(Failure::run),
        (Some(missing), Ok(())) => Err(Failure::interrupted(missing)),
        (Some(missing), Err(error)) => Err(Failure::interrupted(format!("{missing}; {error}"))),
    }
}

/// `--strict`: figures that the machine spoiled are not a success.
pub fn unspoiled(records: &[&RunRecord]) -> Outcome {
    let spoiled = || records.iter().filter(|one| !one.result.spoiled.is_empty());
    let Some(first) = spoiled().next() else {
        return Ok(());
    };
    Err(Failure::run(format!(
        "{} of {} run(s) spoiled; the first, {}: {}",
        spoiled().count(),
        records.len(),
        run_name(&first.result),
        first.result.spoiled[0].why
    )))
}
