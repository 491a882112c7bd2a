//! `joulio trace`: a few I/Os, event by event.

use crate::Outcome;
use crate::bench::verdict;
use crate::failure::{Failure, say};
use crate::output::print;
use crate::signals::stop_on_signals;
use crate::times::seconds;
use crate::work::{Length, WorkArgs};
use clap::ValueEnum;
use joulio_lab::experiment::{ExperimentError, MissingRuns};
use joulio_lab::output_file::{Existing, OutputFile};
use joulio_lab::{machine_profile, open_targets, record};
use joulio_trace::{Timeline, json, perfetto, text};
use joulio_units::Nanos;
use joulio_workload::{CompletionMode, EngineName, RingOptions, Verify, parse_count};
use std::io;
use std::path::PathBuf;

/// Columns of the text. A narrower terminal wraps the bars, which stand last.
const WIDTH: usize = 100;
/// Flags that fio has mean what they mean there.
#[derive(clap::Args)]
pub struct TraceArgs {
    /// Completion mode: poll, interrupt, hybrid (sleep half the mean time, then poll), hybrid=4us
    /// (sleep that long), uring-hybrid, ehp, pas, dpas, ski-rental=2us, adaptive
    #[arg(long, default_value = "poll")]
    completion: CompletionMode,
    #[command(flatten)]
    work: WorkArgs,
    /// I/Os of each job (or 10k). Of very many, the last are shown
    #[arg(long = "number_ios", alias = "number-ios", default_value = "32", value_parser = parse_count)]
    number_ios: u64,
    /// Seconds to run before the trace begins, so that hybrid has learnt how long to sleep
    #[arg(long = "ramp_time", alias = "ramp-time", default_value = "200ms", value_parser = seconds)]
    ramp_time: Nanos,
    /// The machine by whose costs adaptive plans: a name, or a path to a .toml file. Default: the one
    /// that fits this processor; without one, a generic server
    #[arg(long)]
    machine: Option<String>,
    /// text, json or perfetto
    #[arg(long, alias = "output-format", value_enum, default_value = "text")]
    output: Format,
    /// Write to this file, which must not be there, or be one to overwrite by --force. Default:
    /// standard output
    #[arg(long)]
    file: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long, requires = "file")]
    force: bool,
}

/// `--output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    #[value(alias = "normal")]
    Text,
    /// For programs.
    Json,
    /// Trace Event Format: for ui.perfetto.dev and chrome://tracing.
    Perfetto,
}

/// `joulio trace`.
pub fn run(args: &TraceArgs) -> Outcome {
    let length = Length {
        runtime: None,
        number_ios: Some(args.number_ios),
        window: None,
        ramp_time: args.ramp_time,
    };
    args.work.goal.check([args.completion])?;
    let job = args.work.job(length, Verify::None)?;
    let path = args.file.as_deref();
    let file = path.map(|path| OutputFile::open(path, Existing::forced(args.force)));
    let file = file
        .transpose()
        .map_err(|error| Failure::input(format!("--file: {error}")))?;
    for place in &args.work.device {
        // Events are the user-space driver's own.
        place.check(EngineName::Nvme)?;
    }
    let machine = machine_profile(args.machine.as_deref()).map_err(Failure::input)?;
    let ring = RingOptions::default();
    let stop = stop_on_signals()?;
    let targets = open_targets(&args.work.targets(ring), &job, &[EngineName::Nvme]);
    let targets = targets.map_err(|error| Failure::from(error).after_signal())?;
    let recorded = record(&job, args.completion, &targets, &machine, &stop);
    let recorded = recorded.map_err(|error| Failure::from(ExperimentError::from(error)));
    let (result, timeline) = recorded.map_err(Failure::after_signal)?;
    if let Some(reason) = &result.completion.reason {
        let requested = &result.completion.requested;
        match &result.completion.effective {
            Some(mode) => say(&format!("{requested}: effective: {mode}: {reason}")),
            None => return Err(Failure::run(format!("{requested}: unavailable: {reason}"))),
        }
    }
    let output = render(&timeline, args.output).map_err(Failure::run)?;
    match file {
        Some(file) => file.write(&output).map_err(Failure::run)?,
        None => print(&output)?,
    }
    verdict(
        std::slice::from_ref(&result),
        &MissingRuns::default(),
        &stop,
    )
    .map_err(Failure::after_signal)?;
    for spoiled in &result.spoiled {
        say(&format!("spoiled: {}", spoiled.why));
    }
    match result.interrupted {
        true => Err(Failure::interrupted("not all I/Os are in it")),
        false => Ok(()),
    }
}

fn render(timeline: &Timeline, format: Format) -> io::Result<String> {
    let mut bytes = Vec::new();
    match format {
        Format::Text => return Ok(text(timeline, WIDTH)),
        Format::Json => json(timeline, &mut bytes)?,
        Format::Perfetto => perfetto(timeline, &mut bytes)?,
    }
    String::from_utf8(bytes).map_err(io::Error::other)
}
