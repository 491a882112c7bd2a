//! `joulio lab run`: an experiment's runs, into a folder.

use super::args::CampaignArgs;
use super::terminal::LabTerminal;
use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::print;
use crate::signals::stop_on_signals;
use joulio_lab::campaign::{Campaign, CampaignEnd};
use joulio_lab::record::Platform;
use std::fmt::Write;
use std::path::PathBuf;
use std::thread;

/// The flags.
#[derive(clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    campaign: CampaignArgs,
    /// Folder of the results; runs that it has are not done again. Default: the experiment's name and
    /// what it is run on, here
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Threads that simulate. Default: one for each CPU
    #[arg(long, value_name = "N", requires = "twin", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// `joulio lab run`.
pub fn run(args: &RunArgs) -> Outcome {
    let campaign = args.campaign.campaign()?;
    let stop = stop_on_signals()?;
    let usual = thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.map_or(usual, usize::from);
    let folder = args.output.clone().unwrap_or_else(|| folder(&campaign));
    let observer = LabTerminal::default();
    let shard = args.campaign.shard;
    let ended = campaign.run(&folder, shard, threads, &stop, &observer);
    observer.finish();
    let end = ended.map_err(|error| Failure::from(error).after_signal())?;
    for (name, why) in &campaign.refused {
        say(&format!("{name}: not run here: {why}"));
    }
    print(&summary(&end, &folder.display().to_string()))?;
    match (&end.not_run, end.trouble()) {
        (None, None) => Ok(()),
        (None, Some(trouble)) => Err(Failure::run(trouble)),
        (Some(missing), None) => Err(Failure::interrupted(missing)),
        (Some(missing), Some(trouble)) => {
            Err(Failure::interrupted(format!("{missing}; {trouble}")))
        }
    }
}

/// `hotstorage22-twin-quick`.
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

fn summary(end: &CampaignEnd, folder: &str) -> String {
    let mut text = format!(
        "{} run(s), {} of them now; {} with figures\n",
        end.all, end.done, end.with_figures
    );
    // Writing to a string does not fail.
    for (why, runs) in &end.unavailable {
        let _ = writeln!(text, "{runs} unavailable: {why}");
    }
    for (why, runs) in &end.apart {
        let _ = writeln!(text, "{runs} kept apart: {why}");
    }
    let _ = writeln!(text, "Results are in {folder}: joulio lab report {folder}");
    text
}
