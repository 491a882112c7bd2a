//! `joulio trace`: shows a few I/Os, event by event.

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::{Output, print, print_data, terminal_width};
use crate::signals::stop_on_signals;
use crate::times::seconds;
use crate::work::WorkArgs;
use clap::ValueEnum;
use joulio_lab::experiment::{MissingRuns, WorkloadOptions};
use joulio_lab::output_file::{Existing, OutputFile};
use joulio_lab::sweep::judge_runs;
use joulio_lab::{Recording, RecordingOptions};
use joulio_trace::{Timeline, json, perfetto, text};
use joulio_units::Nanos;
use joulio_workload::{CompletionMode, RingOptions, parse_count};
use std::io;
use std::path::PathBuf;

/// Width of the text if there is no terminal.
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
    /// Number of I/Os of each job on each of its devices (10k). If there are very many, the last ones are shown
    #[arg(long = "number_ios", default_value = "32", value_parser = parse_count)]
    number_ios: u64,
    /// Seconds to run before the trace starts, so that policies have learnt how long to sleep
    #[arg(long = "ramp_time", default_value = "200ms", value_parser = seconds)]
    ramp_time: Nanos,
    /// Machine profile whose costs adaptive plans with: a name, or a path to a .toml file. Default: the profile of
    /// this processor, or a generic server
    #[arg(long)]
    machine: Option<String>,
    #[command(flatten)]
    output: Output<Format>,
    /// Write to this file. An existing file is kept unless --force is given. Default: standard output
    #[arg(long)]
    file: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

/// `--output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    #[value(alias = "normal")]
    Text,
    /// For programs.
    Json,
    /// Trace Event Format: for ui.perfetto.dev and chrome://tracing.
    Perfetto,
}

/// Runs `joulio trace`.
pub fn run(args: &TraceArgs) -> Outcome {
    if let (Some(path), Some(report)) = (&args.file, args.output.file()) {
        return Err(Failure::input(format!(
            "--file {} with --output {}: the trace goes to one of them: leave out the other",
            path.display(),
            report.display()
        )));
    }
    args.work.check_single()?;
    let recording = Recording::new(args.options())?;
    let path = args.file.as_deref();
    let file = path.map(|path| OutputFile::open(path, Existing::forced(args.force)));
    let file = file
        .transpose()
        .map_err(|error| Failure::input(format!("--file: {error}")))?;
    let stop = stop_on_signals()?;
    let recorded = recording.run(&stop);
    let recorded = recorded.map_err(|error| Failure::from(error).after_signal());
    let (result, timeline) = recorded?;
    if let Some(reason) = &result.completion.reason {
        let requested = &result.completion.requested;
        match &result.completion.effective {
            Some(mode) => say(&format!("{requested}: effective: {mode}: {reason}")),
            None => return Err(Failure::run(format!("{requested}: unavailable: {reason}"))),
        }
    }
    // A file has the same width wherever it is written.
    let width = terminal_width().filter(|_| file.is_none()).unwrap_or(WIDTH);
    let format = args.output.format();
    let mut output = render(&timeline, format, width).map_err(Failure::run)?;
    if let Some(machine) = result
        .planned_by
        .as_ref()
        .filter(|_| format == Format::Text)
    {
        output += &format!("Planned and priced by the costs of {machine}.\n");
    }
    let written = match file {
        Some(file) => file.write(&output).map_err(Failure::run),
        None if args.output.format() == Format::Text => print(&output),
        None => print_data(&output),
    };
    // A reader that needs no more does not make the run a good one.
    if !matches!(written, Ok(()) | Err(Failure::Pipe)) {
        return written;
    }
    let all = std::slice::from_ref(&result);
    let judged = judge_runs(all, &MissingRuns::default(), &stop);
    judged.map_err(|error| Failure::from(error).after_signal())?;
    for spoiled in &result.spoiled {
        say(&format!("spoiled: {}", spoiled.why));
    }
    match result.interrupted {
        true => Err(Failure::interrupted("not all I/Os are in it")),
        false => written,
    }
}

impl TraceArgs {
    fn options(&self) -> RecordingOptions {
        RecordingOptions {
            targets: self.work.targets(RingOptions::default()),
            workload: WorkloadOptions {
                number_ios: Some(self.number_ios),
                ramp_time: Some(self.ramp_time),
                ..self.work.workload()
            },
            completion: self.completion,
            machine: self.machine.clone(),
        }
    }
}

fn render(timeline: &Timeline, format: Format, width: usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    match format {
        Format::Text => return Ok(text(timeline, width)),
        Format::Json => json(timeline, &mut bytes)?,
        Format::Perfetto => perfetto(timeline, &mut bytes)?,
    }
    String::from_utf8(bytes).map_err(io::Error::other)
}
