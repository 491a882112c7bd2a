//! `joulio bench`: the same workload under each way of waiting.

mod args;
mod energy;
mod figures;
mod manifest;
mod missing;
mod progress;
mod settings;
mod sides;
mod table;
mod twin;

pub use args::Args;

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::{Format, print, print_json};
use crate::signals::{signal, stop_on_signals};
use energy::Sources;
use joulio_kernel_io::{Throttled, Throttles};
use joulio_lab::open_targets;
use joulio_workload::{
    EngineName, Job, Method, RingOptions, RunError, RunResult, Setup, Stop, Target, run as run_job,
};
use manifest::Manifest;
use missing::Missing;
use serde::Serialize;
use settings::Combination;
use std::path::Path;

#[derive(Serialize)]
struct Report<'a> {
    manifest: &'a Manifest,
    runs: &'a [RunResult],
}

/// `joulio bench`.
pub fn run(args: &Args) -> Outcome {
    if args.twin {
        return twin::run(args);
    }
    let job = args.job()?;
    let (engines, methods) = (args.engines()?, args.methods()?);
    if args.ring() != RingOptions::default() && !engines.contains(&EngineName::IoUring) {
        return Err(Failure::input(
            "--fixedbufs, --registerfiles and --sqthread_* are of io_uring, which is not among the engines: add it to --engine, or leave them out",
        ));
    }
    // Before there is anything that a signal would leave behind, or that is waited for.
    let stop = stop_on_signals()?;
    let targets = open_targets(&args.work.targets(args.ring()), &job, &engines);
    let targets = targets.map_err(|error| Failure::from(error).after_signal())?;
    let combinations = args.settings.combinations(&targets)?;
    let mut sources = Sources::open(args, &targets)?;
    let mut manifest = Manifest::new(args, &job, &sources, &targets);
    if args.output == Format::Normal {
        let names: Vec<_> = targets.iter().map(|target| &*target.info().name).collect();
        print(&table::heading(&job, &names, &args.work.faults))?;
    }
    let root = args.root.as_deref().unwrap_or(Path::new("/"));
    let throttles = Throttles::read(root);
    let _latency = args.settings.hold_latency()?;
    let mut bench = Bench {
        args,
        job: &job,
        root,
        targets: &targets,
        stop: &stop,
        sources: &mut sources,
    };
    let mut runs = Vec::new();
    let mut missing = Missing::default();
    for number in 1..=args.settings.loops {
        for combination in &combinations {
            for &method in &methods {
                let repetition = (number, args.settings.loops);
                if stop.stopped() {
                    missing.not_run(method, combination, repetition);
                    continue;
                }
                let mut result = match bench.run(combination, method) {
                    Ok(result) => result,
                    // What came before it is shown all the same.
                    Err(why) if signal().is_some() => {
                        missing.lost(method, combination, repetition, &why.message());
                        continue;
                    }
                    Err(why) => return Err(why),
                };
                result.settings.extend(args.settings.told());
                if result.interrupted {
                    missing.cut_short(method, combination, repetition);
                }
                runs.push(result);
            }
        }
    }
    manifest.interrupted = stop.stopped();
    manifest.not_run = missing.not_run.clone();
    manifest.throttled = Throttled::between(&throttles, &Throttles::read(root));
    if manifest.throttled == Throttled::Yes {
        say(
            "CPUs were throttled for their temperature during the runs: the figures are lower than the machine's",
        );
    }
    match args.output {
        Format::Normal => print(&table::table(&runs))?,
        Format::Json => print_json(&Report {
            manifest: &manifest,
            runs: &runs,
        })?,
    }
    missing.verdict(verdict(&runs, &stop))?;
    match args.strict {
        true => unspoiled(&runs),
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
        table::name(first),
        first.spoiled[0].why
    )))
}

/// What all runs have in common.
struct Bench<'a> {
    args: &'a Args,
    job: &'a Job,
    root: &'a Path,
    targets: &'a [Box<dyn Target>],
    stop: &'a Stop,
    sources: &'a mut Sources,
}

impl Bench<'_> {
    /// One run, under settings that are put back after it, whatever comes.
    fn run(&mut self, combination: &Combination, method: Method) -> Result<RunResult, Failure> {
        let changes = combination.apply(method, self.targets)?;
        let job = self.args.job_of(self.job, method);
        let bar = progress::Bar::new(method, &job);
        let baseline = self.sources.baseline.as_ref();
        let setup = Setup {
            targets: self.targets,
            machine: self.sources.machine.as_ref(),
            at_home: self.sources.at_home,
            baseline: baseline.map(|(baseline, _)| baseline),
            stop: self.stop,
            root: self.root,
            progress: &|fraction| bar.set(fraction),
            trace: None,
        };
        let result = run_job(&job, method, &setup, &mut self.sources.meters);
        bar.finish();
        for note in changes.finish()? {
            say(&note);
        }
        let mut result = result.map_err(|error| match error {
            RunError::Job(error) => Failure::input(error),
            other => Failure::run(other),
        })?;
        result.settings = combination.told.clone();
        Ok(result)
    }
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
