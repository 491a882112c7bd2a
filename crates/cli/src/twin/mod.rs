//! `joulio twin`: simulates a machine in virtual time.

mod check;
mod fit;
mod grid;
mod predicted;

use crate::Outcome;
use crate::failure::Failure;
use clap::Subcommand;
use joulio_lab::ProfileFolder;
use joulio_twin::published::{Paper, PaperError, Profiles};
use std::path::Path;

/// Subcommands of `twin`.
#[derive(Subcommand)]
pub enum TwinCommand {
    /// Compare published numbers with modelled ones; fails if a promise is broken.
    Check(check::CheckArgs),
    /// Fit the profiles' fitted figures again to the published numbers.
    Fit(fit::FitArgs),
    /// Simulate every policy on every load: energy, latency and CPU of each, and the best.
    Grid(Box<grid::GridArgs>),
}

/// Runs `joulio twin`.
pub fn run(command: &TwinCommand) -> Outcome {
    match command {
        TwinCommand::Check(args) => check::run(args),
        TwinCommand::Fit(args) => fit::run(args),
        TwinCommand::Grid(args) => grid::run(args),
    }
}

/// Returns the built-in profiles, replaced by those in `folder`.
fn profiles(folder: Option<&Path>) -> Result<Profiles, Failure> {
    let read = folder.map(|folder| ProfileFolder::new(folder).read());
    let read = read.transpose().map_err(Failure::input)?;
    Ok(read.unwrap_or_default())
}

/// Returns the named sources, or all if none is named.
fn papers(names: &[String]) -> Result<Vec<Paper>, Failure> {
    Paper::named(names).map_err(|error| match error {
        PaperError::Unknown { .. } => Failure::input(error),
        PaperError::File(_) => Failure::run(error),
    })
}
