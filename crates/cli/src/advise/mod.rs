//! `joulio advise`: what to choose for a workload, and why.

mod args;
mod command;
mod lasting;
mod real;
mod text;
mod twin;

pub use args::AdviseArgs;

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::{Format, print, print_json};
use crate::signals::stop_on_signals;
use joulio_kernel_io::Disks;
use joulio_lab::TargetName;
use joulio_lab::advise::{Advice, Diagnosis, Observation, Workload, read_iolog};
use joulio_lab::experiment::Manifest;
use joulio_workload::{Job, Stop};
use serde::Serialize;

/// What `--output json` prints.
#[derive(Serialize)]
struct AdviseReport<'a> {
    manifest: &'a Manifest,
    /// Workload that was observed; `None`: it was described.
    observed: Option<&'a Workload>,
    diagnoses: &'a [Diagnosis],
    /// Command that runs the advice.
    command: String,
    #[serde(flatten)]
    advice: &'a Advice,
}

/// What was found, really or in virtual time.
struct Found {
    job: Job,
    manifest: Manifest,
    /// Words that say where, for people.
    place: String,
    diagnoses: Vec<Diagnosis>,
    advice: Advice,
    /// Disks of the kernel that it was found on.
    disks: Vec<String>,
}

/// `joulio advise`.
pub fn run(args: &AdviseArgs) -> Outcome {
    let described = args.job()?;
    let stop = stop_on_signals()?;
    let observed = observed(args, &stop)?;
    let job = match &observed {
        Some(workload) => workload.applied_to(&described),
        None => described,
    };
    job.check().map_err(Failure::input)?;
    let found = match args.twin {
        true => twin::find(args, job)?,
        false => real::find(args, job, &stop)?,
    };
    let command = command::of(args, &found.job, &found.advice.chosen().candidate);
    match args.output {
        Format::Normal => {
            let text = text::advice(args, observed.as_ref(), &found, &command);
            print(&text)?;
        }
        Format::Json => print_json(&AdviseReport {
            manifest: &found.manifest,
            observed: observed.as_ref(),
            diagnoses: &found.diagnoses,
            command,
            advice: &found.advice,
        })?,
    }
    match args.apply {
        true => real::apply(&found),
        false => Ok(()),
    }
}

/// The workload that is observed, if one is to be.
fn observed(args: &AdviseArgs, stop: &Stop) -> Result<Option<Workload>, Failure> {
    if let Some(path) = &args.read_iolog {
        return read_iolog(path).map(Some).map_err(Failure::input);
    }
    let Some(time) = args.observe else {
        return Ok(None);
    };
    let disk = match (&args.disk, args.work.device.first()) {
        (Some(disk), _) => disk.clone(),
        (None, Some(TargetName::Kernel(path))) => path.display().to_string(),
        _ => {
            return Err(Failure::input(
                "--observe: which block device? name it by --disk, as nvme0n1, or as the first --device",
            ));
        }
    };
    let observation = Observation::begin(Disks::at("/"), &disk)?;
    say(&format!("watching {disk} for {} s", time.seconds()));
    match observation.watch(time, stop)? {
        Some(workload) => Ok(Some(workload)),
        None if stop.stopped() => Err(Failure::interrupted("nothing was observed")),
        None => Err(Failure::run(format!(
            "--observe: {disk} had no I/O in {} s: watch it for longer, or describe the workload",
            time.seconds()
        ))),
    }
}
