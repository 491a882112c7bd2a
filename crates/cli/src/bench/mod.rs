//! `joulio bench`: the same workload under each completion mode.

mod args;
mod figures;
mod progress;
mod settings;
mod sides;
mod table;

pub use args::BenchArgs;
pub use progress::BenchTerminal;

use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, print, print_json};
use crate::signals::stop_on_signals;
use joulio_lab::experiment::{Experiment, MissingRuns, judge};
use joulio_lab::results::run_name;
use joulio_workload::{RunResult, Stop};

/// `joulio bench`.
pub fn run(args: &BenchArgs) -> Outcome {
    let options = args.options();
    let virtual_time = options.twin.is_some();
    if args.strict && virtual_time {
        return Err(Failure::input(
            "--strict with --twin: nothing spoils a run in virtual time",
        ));
    }
    let experiment = Experiment::new(options)?;
    // Before there is anything that a signal would leave behind, or that is waited for.
    let stop = match virtual_time {
        true => Stop::default(),
        false => stop_on_signals()?,
    };
    let opened = experiment.open();
    let opened = opened.map_err(|error| Failure::from(error).after_signal())?;
    let heading = table::heading(&experiment, &opened);
    let people = args.output == Format::Normal;
    // What takes its time is told of before.
    if people && !virtual_time {
        print(&heading)?;
    }
    let result = opened.run(&stop, &BenchTerminal::default())?;
    match args.output {
        Format::Normal if virtual_time => print(&(heading + &table::table(&result.runs)))?,
        Format::Normal => print(&table::table(&result.runs))?,
        Format::Json => print_json(&result)?,
    }
    verdict(&result.runs, &result.missing, &stop)?;
    match args.strict {
        true => unspoiled(&result.runs),
        false => Ok(()),
    }
}

/// `--strict`: figures that the machine spoiled are not a success.
fn unspoiled(runs: &[RunResult]) -> Outcome {
    let spoiled = || runs.iter().filter(|run| !run.spoiled.is_empty());
    let Some(first) = spoiled().next() else {
        return Ok(());
    };
    Err(Failure::run(format!(
        "{} of {} run(s) spoiled; the first, {}: {}",
        spoiled().count(),
        runs.len(),
        run_name(first),
        first.spoiled[0].why
    )))
}

/// Returns what is missing, and what is wrong with the rest.
pub fn verdict(runs: &[RunResult], missing: &MissingRuns, stop: &Stop) -> Outcome {
    let judged = judge(runs, stop);
    match (missing.summary(), judged) {
        (None, judged) => judged.map_err(Failure::run),
        (Some(missing), Ok(())) => Err(Failure::interrupted(missing)),
        (Some(missing), Err(error)) => Err(Failure::interrupted(format!("{missing}; {error}"))),
    }
}
