//! `joulio lab list`: the experiments that come with joulio.

use crate::Outcome;
use crate::columns::columns;
use crate::failure::Failure;
use crate::output::print;
use joulio_lab::experiment_file::{CATALOGUE, ExperimentFile};

/// The flags.
#[derive(clap::Args)]
pub struct ListArgs {}

/// `joulio lab list`.
pub fn run(_: &ListArgs) -> Outcome {
    let files = CATALOGUE.iter().map(|(name, _)| ExperimentFile::load(name));
    let files: Vec<_> = files.collect::<Result<_, _>>().map_err(Failure::run)?;
    let header = [
        "experiment",
        "title",
        "sweeps",
        "tables",
        "figures",
        "observations",
    ];
    let rows = files.iter().map(|file| {
        [
            file.name.clone(),
            file.title.clone(),
            file.sweep.len().to_string(),
            file.table.len().to_string(),
            file.figure.len().to_string(),
            file.observation.len().to_string(),
        ]
    });
    print(&columns(header.map(String::from), rows, 2))
}
