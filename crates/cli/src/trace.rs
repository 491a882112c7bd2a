//! `joulio trace`: a few I/Os, event by event.

use crate::Outcome;
use crate::bench::verdict;
use crate::failure::{Failure, say};
use crate::output::print;
use crate::signals::stop_on_signals;
use crate::work::{Length, Work, seconds};
use clap::ValueEnum;
use joulio_energy::Meters;
use joulio_lab::experiment::MissingRuns;
use joulio_lab::open_targets;
use joulio_lab::output_file::{Existing, OutputFile};
use joulio_trace::{Event, Thread, Timeline, json, perfetto, text};
use joulio_units::Nanos;
use joulio_workload::run_traced;
use joulio_workload::{
    CompletionMode, EngineName, Job, Method, RingOptions, RunError, RunResult, Setup, Stop, Target,
    Verify, parse_count,
};
use std::io;
use std::path::{Path, PathBuf};

/// Columns of the text. A narrower terminal wraps the bars, which stand last.
const WIDTH: usize = 100;
/// Events that an I/O takes, generously: a submission, a doorbell, a completion, and some waits
/// that end too early.
const EVENTS_PER_IO: u64 = 16;
/// A queue's recorder has room for at least this many events, and at most.
const MIN_EVENTS: u64 = 4 << 10;
const MAX_EVENTS: u64 = 1 << 20;
const _: () = assert!(MAX_EVENTS * (size_of::<Event>() as u64) < 32 << 20);

/// Flags that fio has mean what they mean there.
#[derive(clap::Args)]
pub struct Args {
    /// Completion mode: poll, interrupt, hybrid (sleep half the mean time, then poll), hybrid=4us
    /// (sleep that long), uring-hybrid, ehp, pas, dpas, ski-rental=2us
    #[arg(long, default_value = "poll")]
    completion: CompletionMode,
    #[command(flatten)]
    work: Work,
    /// I/Os of each job (or 10k). Of very many, the last are shown
    #[arg(long = "number_ios", alias = "number-ios", default_value = "32", value_parser = parse_count)]
    number_ios: u64,
    /// Seconds to run before the trace begins, so that hybrid has learnt how long to sleep
    #[arg(long = "ramp_time", alias = "ramp-time", default_value = "200ms", value_parser = seconds)]
    ramp_time: Nanos,
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

/// What is to be traced.
struct Run<'a> {
    job: &'a Job,
    mode: CompletionMode,
    targets: &'a [Box<dyn Target>],
    stop: &'a Stop,
    /// Events that each queue keeps.
    capacity: usize,
}

/// `joulio trace`.
pub fn run(args: &Args) -> Outcome {
    let length = Length {
        runtime: None,
        number_ios: Some(args.number_ios),
        window: None,
        ramp_time: args.ramp_time,
    };
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
    let ring = RingOptions::default();
    let stop = stop_on_signals()?;
    let targets = open_targets(&args.work.targets(ring), &job, &[EngineName::Nvme]);
    let targets = targets.map_err(|error| Failure::from(error).after_signal())?;
    let recorded = record(&Run {
        job: &job,
        mode: args.completion,
        targets: &targets,
        stop: &stop,
        capacity: capacity(args.number_ios),
    });
    let (result, threads) = recorded.map_err(Failure::after_signal)?;
    if let Some(reason) = &result.completion.reason {
        let asked = &result.completion.requested;
        match &result.completion.effective {
            Some(way) => say(&format!("{asked}: effective: {way}: {reason}")),
            None => return Err(Failure::run(format!("{asked}: unavailable: {reason}"))),
        }
    }
    let output = render(&Timeline::new(&threads), args.output).map_err(Failure::run)?;
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

/// Events that a queue keeps for `ios` I/Os.
fn capacity(ios: u64) -> usize {
    let events = ios.saturating_mul(EVENTS_PER_IO);
    events.clamp(MIN_EVENTS, MAX_EVENTS) as usize
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

/// Runs it with every queue's trace on, and hands back what each thread recorded.
fn record(run: &Run<'_>) -> Result<(RunResult, Vec<Thread>), Failure> {
    let setup = Setup {
        targets: run.targets,
        machine: None,
        at_home: false,
        baseline: None,
        stop: run.stop,
        progress: &|_| {},
        root: Path::new("/"),
        trace: Some(run.capacity),
    };
    let method = Method {
        engine: EngineName::Nvme,
        mode: run.mode,
    };
    let result = run_traced(run.job, method, &setup, &mut Meters::default());
    result.map_err(|error| match error {
        RunError::Job(error) => Failure::input(error),
        other => Failure::run(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_has_room_for_a_short_run_and_an_end_for_a_long_one() {
        assert_eq!(capacity(1), 4096);
        assert_eq!(capacity(1000), 16_000);
        assert_eq!(capacity(u64::MAX), 1 << 20);
    }
}
