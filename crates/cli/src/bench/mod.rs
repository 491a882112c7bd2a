//! `joulio bench`: the same workload under each way of waiting.

mod args;
mod energy;
mod figures;
mod manifest;
mod progress;
mod table;
pub mod targets;

pub use args::Args;

use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, print, print_json};
use crate::stop::stop_on_signals;
use energy::Sources;
use joulio_workload::{RunError, RunResult, Setup, Stop, run as run_job};
use manifest::Manifest;
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    manifest: &'a Manifest,
    runs: &'a [RunResult],
}

/// `joulio bench`.
pub fn run(args: &Args) -> Outcome {
    let job = args.job()?;
    let (engines, methods) = (args.engines()?, args.methods()?);
    let targets = targets::open(&args.work, &job, &engines, args.ring())?;
    let mut sources = Sources::open(args, &targets)?;
    let stop = stop_on_signals()?;
    let mut manifest = Manifest::new(args, &job, &sources, &targets);
    if args.output == Format::Normal {
        print(&table::heading(&job, &targets, &args.work.faults))?;
    }
    let mut runs = Vec::new();
    for method in methods {
        if stop.stopped() {
            break;
        }
        let bar = progress::Bar::new(method, &job);
        let setup = Setup {
            targets: &targets,
            machine: sources.machine.as_ref(),
            baseline: sources.baseline.as_ref().map(|(baseline, _)| baseline),
            stop: &stop,
            progress: &|fraction| bar.set(fraction),
            trace: None,
        };
        let result = run_job(&job, method, &setup, &mut sources.meters);
        bar.finish();
        runs.push(result.map_err(|error| match error {
            RunError::Job(error) => Failure::input(error),
            other => Failure::run(other),
        })?);
    }
    manifest.interrupted = stop.stopped();
    match args.output {
        Format::Normal => print(&table::table(&runs))?,
        Format::Json => print_json(&Report {
            manifest: &manifest,
            runs: &runs,
        })?,
    }
    verdict(&runs, &stop)
}

/// A run with wrong data, failed I/Os or no way of waiting at all is not a success.
pub fn verdict(runs: &[RunResult], stop: &Stop) -> Outcome {
    let counts = || runs.iter().filter_map(|run| run.counts.as_ref());
    let wrong: u64 = counts()
        .filter_map(|c| c.verify.as_ref())
        .map(|v| v.errors)
        .sum();
    if wrong > 0 {
        let first = counts().find_map(|c| c.verify.as_ref()?.first_error.clone());
        return Err(Failure::run(format!(
            "verification found {wrong} wrong block(s); the first: {}",
            first.unwrap_or_default()
        )));
    }
    let failed: u64 = counts().map(|c| c.all.errors).sum();
    if failed > 0 {
        let first = counts().find_map(|c| c.first_error.clone());
        return Err(Failure::run(format!(
            "{failed} I/O(s) failed; the first: {}",
            first.unwrap_or_default()
        )));
    }
    if counts().next().is_none() && !stop.stopped() {
        return Err(Failure::run(
            "no way of waiting that was asked for could be had",
        ));
    }
    Ok(())
}
