//! `joulio lab run`: runs an experiment, with results in a folder.

use super::args::CampaignArgs;
use super::compare;
use super::terminal::LabTerminal;
use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::print;
use crate::signals::stop_on_signals;
use joulio_lab::campaign::{BesideModel, Campaign, CampaignEnd, NoModel, ResultsFolder};
use joulio_lab::record::Platform;
use joulio_lab::survey::Survey;
use std::fmt::Write;
use std::path::PathBuf;
use std::thread;

/// The flags.
#[derive(clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    campaign: CampaignArgs,
    /// Folder for the results; runs that it already has are not repeated. Default: a folder here, named after the
    /// experiment and its platform
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,
    /// Number of threads that simulate. Default: one for each CPU
    #[arg(long, value_name = "N", requires = "twin", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// Runs `joulio lab run`.
pub fn run(args: &RunArgs) -> Outcome {
    let campaign = args.campaign.campaign()?;
    let stop = stop_on_signals()?;
    let usual = thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.map_or(usual, usize::from);
    let folder = args.results.clone().unwrap_or_else(|| folder(&campaign));
    let observer = LabTerminal::default();
    let shard = args.campaign.shard;
    let ended = campaign.run(&folder, shard, threads, &stop, &observer);
    observer.finish();
    let end = ended.map_err(|error| Failure::from(error).after_signal())?;
    for (name, why) in &campaign.refused {
        say(&format!("{name}: not run here: {why}"));
    }
    let mut printed = print(&summary(&end, &folder.display().to_string()));
    if let Some(survey) = &end.survey {
        let file = ResultsFolder::read(&folder).map_err(Failure::run)?;
        let file = file.write_whole().map_err(Failure::run)?;
        let beside = campaign.beside_model(&folder, threads, &stop);
        let text = surveyed(survey, &beside, &file.display().to_string());
        printed = printed.and_then(|()| print(&text));
    }
    let left = format!(
        "{} of {} runs are left: the same command goes on with them",
        end.left, end.all
    );
    match (end.left, end.trouble()) {
        (0, None) => printed,
        (0, Some(trouble)) => Err(Failure::run(trouble)),
        (_, None) => Err(Failure::interrupted(left)),
        (_, Some(trouble)) => Err(Failure::interrupted(format!("{left}; {trouble}"))),
    }
}

/// Returns the default folder, such as `hotstorage22-twin-quick`.
fn folder(campaign: &Campaign) -> PathBuf {
    let platform = match campaign.on.platform {
        Platform::Real => "real",
        Platform::Emulated => "emulated",
        Platform::Guest => "guest",
        Platform::Twin => "twin",
    };
    let quick = if campaign.on.quick { "-quick" } else { "" };
    format!("{}-{platform}{quick}", campaign.file.name).into()
}

/// Describes the survey's findings, and the results that disagree with the profiles.
fn surveyed(survey: &Survey, beside: &Result<BesideModel, NoModel>, file: &str) -> String {
    let mut text = String::from("\nLooked at beside the runs:\n");
    // Writing to a string cannot fail.
    for part in &survey.parts {
        let device = part.device.as_ref();
        let device = device.map_or_else(String::new, |device| format!(" of {device}"));
        let state = part.missing.as_deref().unwrap_or("found");
        let _ = writeln!(text, "  {}{device}: {state}", part.part);
    }
    text.push('\n');
    match beside {
        Ok(beside) => {
            let _ = writeln!(
                text,
                "What the profiles of {} and of this machine do not say (one: here, other: the model):",
                beside.device
            );
            text += &compare::text(&beside.compared, false);
        }
        Err(why) => {
            let _ = writeln!(text, "Not compared with a profile: {why}");
        }
    }
    let _ = writeln!(
        text,
        "\nAll of it is in {file}: joulio lab compare takes that file."
    );
    text
}

fn summary(end: &CampaignEnd, folder: &str) -> String {
    let mut text = format!(
        "{} run(s), {} of them now; {} with figures\n",
        end.all, end.done, end.with_figures
    );
    // Writing to a string cannot fail.
    for (why, runs) in &end.unavailable {
        let _ = writeln!(text, "{runs} unavailable: {why}");
    }
    for (why, runs) in &end.apart {
        let _ = writeln!(text, "{runs} of those with figures kept apart: {why}");
    }
    let _ = writeln!(text, "Results are in {folder}: joulio lab report {folder}");
    text
}
