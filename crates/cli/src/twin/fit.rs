//! `joulio twin fit`.

use super::{holds, papers, profiles};
use crate::Outcome;
use crate::columns::columns;
use crate::failure::{Failure, say};
use crate::output::{Format, Output, print, print_json};
use joulio_lab::output_file::{Existing, OutputFile};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::fit::{Change, IOS, fit, write};
use joulio_twin::published::Field;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Searches for the fitted figures of the profiles, starting from what they are, and shows each
/// with its old and its new value and how far the numbers that it was fitted to are off. Takes a
/// minute. Nothing is written unless asked for.
#[derive(clap::Args)]
pub struct Args {
    /// Sources, as HS22 or DPAS; without any, all
    sources: Vec<String>,
    /// Write the new values into the profiles' files, whose comments stay
    #[arg(long)]
    write: bool,
    /// Where the profiles' files are: DIR/machines/NAME.toml and DIR/devices/NAME.toml. Without it
    /// the profiles that come with joulio, and with --write those in ./profiles
    #[arg(long, value_name = "DIR")]
    profiles: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// `joulio twin fit`.
pub fn run(args: &Args) -> Outcome {
    let papers = papers(&args.sources)?;
    let here = args.write.then_some(Path::new("profiles"));
    let folder = args.profiles.as_deref().or(here);
    if let Some(folder) = folder.filter(|_| args.write) {
        holds(folder, &["machines"])?;
        // What cannot be written is told before the search and not after it.
        for fitted in papers.iter().flat_map(|paper| &paper.fit) {
            let field: Field = fitted.field.parse().map_err(Failure::run)?;
            let file = path(folder, &field);
            if !file.is_file() {
                let file = file.display();
                return Err(Failure::input(format!(
                    "{file}: there is no such file: name the folder of the profiles by --profiles"
                )));
            }
            OutputFile::open(&file, Existing::Replace).map_err(Failure::input)?;
        }
    }
    let changes = fit(&papers, profiles(folder)?, IOS).map_err(Failure::run)?;
    match args.output.format {
        Format::Normal => print(&text(&changes))?,
        Format::Json => print_json(&changes)?,
    }
    match folder {
        Some(folder) if args.write => write_all(folder, &changes),
        _ => Ok(()),
    }
}

fn text(changes: &[Change]) -> String {
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
    columns(header.map(str::to_owned).to_vec(), rows, 1)
}

/// The file of the profile of `field`.
fn path(folder: &Path, field: &Field) -> PathBuf {
    let kind = if field.machine { "machines" } else { "devices" };
    folder.join(kind).join(format!("{}.toml", field.profile))
}

/// Each file is read, changed, held to the rules of profiles, and only then replaced.
fn write_all(folder: &Path, changes: &[Change]) -> Outcome {
    let mut files = BTreeMap::<PathBuf, Vec<(Field, f64)>>::new();
    for change in changes {
        let field: Field = change.field.parse().map_err(Failure::run)?;
        files
            .entry(path(folder, &field))
            .or_default()
            .push((field, change.to));
    }
    for (file, values) in files {
        let name = file.display().to_string();
        let refuse = |error: &dyn std::fmt::Display| Failure::run(format!("{name}: {error}"));
        let old = fs::read_to_string(&file).map_err(|error| refuse(&error))?;
        let new = write(&old, &values).map_err(|error| refuse(&error))?;
        let machine = values.iter().any(|(field, _)| field.machine);
        let held = if machine {
            MachineProfile::parse(&new, &name).map(drop)
        } else {
            DeviceProfile::parse(&new, &name).map(drop)
        };
        held.map_err(Failure::run)?;
        if new != old {
            let file = OutputFile::open(&file, Existing::Replace);
            file.and_then(|file| file.write(&new))
                .map_err(Failure::run)?;
            say(&format!("{name} is written"));
        }
    }
    Ok(())
}
