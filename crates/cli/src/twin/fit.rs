//! `joulio twin fit`.

use super::papers;
use crate::Outcome;
use crate::columns::columns;
use crate::failure::{Failure, say};
use crate::output::{Format, Output, print, print_json};
use crate::replace::replace;
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::fit::{Change, IOS, fit, write};
use joulio_twin::published::{Field, Profiles};
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
    /// Where the profiles' files are: machines/NAME.toml and devices/NAME.toml
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    profiles: PathBuf,
    #[command(flatten)]
    output: Output,
}

/// `joulio twin fit`.
pub fn run(args: &Args) -> Outcome {
    let papers = papers(&args.sources)?;
    if args.write && !args.profiles.join("machines").is_dir() {
        return Err(Failure::input(format!(
            "{}: holds no machines/: name the folder of the profiles by --profiles",
            args.profiles.display()
        )));
    }
    let changes = fit(&papers, Profiles::default(), IOS).map_err(Failure::run)?;
    match args.output.format {
        Format::Normal => print(&text(&changes))?,
        Format::Json => print_json(&changes)?,
    }
    if args.write {
        write_all(&args.profiles, &changes)?;
    }
    Ok(())
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

/// Each file is read, changed, held to the rules of profiles, and only then replaced.
fn write_all(folder: &Path, changes: &[Change]) -> Outcome {
    let mut files = BTreeMap::<PathBuf, Vec<(Field, f64)>>::new();
    for change in changes {
        let field: Field = change.field.parse().map_err(Failure::run)?;
        let kind = if field.machine { "machines" } else { "devices" };
        let file = folder.join(kind).join(format!("{}.toml", field.profile));
        files.entry(file).or_default().push((field, change.to));
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
            replace(&file, &new).map_err(|error| refuse(&error))?;
            say(&format!("{name} is written"));
        }
    }
    Ok(())
}
