//! `joulio twin fit`.

use super::{papers, predicted, profiles};
use crate::Outcome;
use crate::columns::columns;
use crate::failure::{Failure, say};
use crate::output::{Format, Output, print, print_json};
use joulio_lab::ProfileFolder;
use joulio_twin::fit::{FittedFigure, IOS, fit};
use joulio_twin::hold_out::{HoldOutReport, hold_out, with_hold_outs};
use std::path::{Path, PathBuf};

/// Searches for the fitted figures of the profiles, starting from what they are, and shows each
/// with its old and its new value and how far the numbers that it was fitted to are off. Takes a
/// minute. Nothing is written unless requested.
#[derive(clap::Args)]
pub struct FitArgs {
    /// Sources of published numbers, such as HS22 or DPAS. Default: all
    sources: Vec<String>,
    /// Write the new values into the profiles' files; comments are kept
    #[arg(long)]
    write: bool,
    /// Hold-out: fit without some of the numbers and predict them, for each part that the sources' files name (a
    /// device, a machine, a size, a completion mode). Takes minutes
    #[arg(long, conflicts_with = "write")]
    hold_out: bool,
    /// Folder of the profiles: DIR/machines/NAME.toml and DIR/devices/NAME.toml. Default: the built-in profiles; with
    /// --write, those in ./profiles
    #[arg(long, value_name = "DIR")]
    profiles: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Runs `joulio twin fit`.
pub fn run(args: &FitArgs) -> Outcome {
    let papers = papers(&args.sources)?;
    let here = args.write.then_some(Path::new("profiles"));
    let folder = args.profiles.as_deref().or(here);
    let written = folder.filter(|_| args.write).map(ProfileFolder::new);
    if let Some(folder) = &written {
        folder.check_fit(&papers).map_err(Failure::input)?;
    }
    if args.hold_out {
        if papers.iter().all(|paper| paper.hold_out.is_empty()) {
            let known = with_hold_outs().map_err(Failure::run)?.join(", ");
            return Err(Failure::input(format!(
                "--hold-out: none of these sources says what to withhold: name {known}"
            )));
        }
        let predictions = hold_out(&papers, &profiles(folder)?, IOS).map_err(Failure::run)?;
        return match args.output.format() {
            Format::Normal => print(&predicted::text(&predictions)),
            Format::Json => print_json(&HoldOutReport::new(&predictions)),
        };
    }
    let changes = fit(&papers, profiles(folder)?, IOS).map_err(Failure::run)?;
    match args.output.format() {
        Format::Normal => print(&text(&changes))?,
        Format::Json => print_json(&changes)?,
    }
    if let Some(folder) = &written {
        let report = |file: &Path| say(&format!("{} is written", file.display()));
        folder.write_fit(&changes, report).map_err(Failure::run)?;
    }
    Ok(())
}

fn text(changes: &[FittedFigure]) -> String {
    let rows = changes.iter().map(|change| {
        let errors = change
            .residuals
            .iter()
            .map(|r| format!("{:+.1} %", r.error * 100.0));
        let [low, high] = change.band;
        vec![
            change.field.clone(),
            change.from.to_string(),
            change.to.to_string(),
            format!("{low}..{high}"),
            errors.collect::<Vec<_>>().join(", "),
        ]
    });
    let header = ["figure", "was", "is", "band", "its numbers are off by"];
    columns(header, rows, 1)
}
