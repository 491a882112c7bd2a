//! `joulio twin`: a machine in virtual time.

mod check;
mod fit;
mod grid;

use crate::Outcome;
use crate::failure::Failure;
use clap::Subcommand;
use joulio_twin::published::{Paper, Profiles};
use std::path::Path;

/// What to do with the twin.
#[derive(Subcommand)]
pub enum Command {
    /// Published against modelled, number by number; fails if a promise is broken.
    Check(check::Args),
    /// Find the fitted figures of the profiles again, from the published numbers.
    Fit(fit::Args),
    /// Every policy on every load: energy, latency and CPU of each, and which is best.
    Grid(Box<grid::Args>),
}

/// `joulio twin`.
pub fn run(command: &Command) -> Outcome {
    match command {
        Command::Check(args) => check::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Grid(args) => grid::run(args),
    }
}

/// The profiles that come with joulio, and those of `folder` in their place.
fn profiles(folder: Option<&Path>) -> Result<Profiles, Failure> {
    let Some(folder) = folder else {
        return Ok(Profiles::default());
    };
    holds(folder, &["machines", "devices"])?;
    Profiles::read(folder).map_err(Failure::input)
}

/// Refuses a `folder` of profiles with none of `kinds`.
fn holds(folder: &Path, kinds: &[&str]) -> Outcome {
    if kinds.iter().any(|kind| folder.join(kind).is_dir()) {
        return Ok(());
    }
    Err(Failure::input(format!(
        "{}: holds no {}/: name the folder of the profiles by --profiles",
        folder.display(),
        kinds.join("/ and no ")
    )))
}

/// The sources that are named; all of them if none is.
fn papers(names: &[String]) -> Result<Vec<Paper>, Failure> {
    let all = Paper::all().map_err(Failure::run)?;
    let known = |name: &String| {
        all.iter()
            .any(|paper| paper.name.eq_ignore_ascii_case(name))
    };
    if let Some(name) = names.iter().find(|name| !known(name)) {
        let known: Vec<_> = all.iter().map(|paper| paper.name.as_str()).collect();
        return Err(Failure::input(format!(
            "unknown source '{name}': known are {}",
            known.join(", ")
        )));
    }
    let named = |paper: &Paper| {
        names.is_empty()
            || names
                .iter()
                .any(|name| paper.name.eq_ignore_ascii_case(name))
    };
    Ok(all.into_iter().filter(named).collect())
}
