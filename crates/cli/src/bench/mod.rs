//! `joulio bench`: the same workload under each completion mode.

mod args;
mod figures;
mod mostly;
mod progress;
mod run_name;
mod settings;
mod sides;
mod table;
mod twin;

pub use args::BenchArgs;
pub use progress::BenchTerminal;

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::{Format, print, print_json};
use crate::signals::stop_on_signals;
use joulio_kernel_io::{Throttled, Throttles};
use joulio_lab::experiment::{EnergySources, Experiment, Manifest, MissingRuns, judge};
use joulio_lab::open_targets;
use joulio_workload::{EngineName, RingOptions, RunResult, Stop};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct BenchReport<'a> {
    manifest: &'a Manifest,
    runs: &'a [RunResult],
}

/// `joulio bench`.
pub fn run(args: &BenchArgs) -> Outcome {
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
    let options = args.work.targets(args.ring());
    let targets = open_targets(&options, &job, &engines);
    let targets = targets.map_err(|error| Failure::from(error).after_signal())?;
    let settings = args.settings.settings();
    let combinations = settings.combinations(&targets).map_err(Failure::input)?;
    let sources = EnergySources::open(&args.energy(), &targets);
    let mut sources = sources.map_err(Failure::input)?;
    let mut manifest = Manifest::new(&options, &job, &sources, &targets);
    if args.output == Format::Normal {
        let names: Vec<_> = targets.iter().map(|target| &*target.info().name).collect();
        print(&table::heading(&job, &names, &args.work.faults))?;
    }
    let root = args.root.as_deref().unwrap_or(Path::new("/"));
    let throttles = Throttles::read(root);
    let experiment = Experiment {
        targets: &targets,
        methods: &methods,
        job: &|method| args.job_of(&job, method),
        settings: &settings,
        loops: args.settings.loops,
        machine: sources.machine.as_ref(),
        at_home: sources.at_home,
        baseline: sources.baseline.as_ref().map(|(baseline, _)| baseline),
        stop: &stop,
        root,
    };
    let observer = progress::BenchTerminal::default();
    let result = experiment.run(&combinations, &mut sources.meters, &observer)?;
    let (runs, missing) = (result.runs, result.missing);
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
        Format::Json => print_json(&BenchReport {
            manifest: &manifest,
            runs: &runs,
        })?,
    }
    verdict(&runs, &missing, &stop)?;
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
        run_name::name(first),
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
