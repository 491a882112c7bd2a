//! `joulio lab list`: lists the built-in experiments, and the papers' tables and figures.

use crate::Outcome;
use crate::columns::columns;
use crate::failure::Failure;
use crate::output::print;
use joulio_lab::campaign::report;
use joulio_lab::experiment_file::{CATALOGUE, ExperimentFile};
use joulio_lab::report::{PaperItem, papers};
use std::path::PathBuf;

/// The flags.
#[derive(clap::Args)]
pub struct ListArgs {
    /// Instead list every table and figure of the papers, as Markdown: the command that makes it, and its outcome in
    /// these folders of results
    #[arg(long, num_args = 1.., value_name = "FOLDER")]
    papers: Vec<PathBuf>,
}

/// Runs `joulio lab list`.
pub fn run(args: &ListArgs) -> Outcome {
    if !args.papers.is_empty() {
        let report = report(&args.papers, None).map_err(Failure::input)?;
        return print(&papers(&PaperItem::all(&report)));
    }
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
    print(&columns(header, rows, 2))
}
