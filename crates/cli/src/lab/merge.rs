//! `joulio lab merge`: combines the results of shards.

use crate::Outcome;
use crate::output::print;
use joulio_lab::campaign::merge;
use joulio_lab::output_file::Existing;
use std::path::PathBuf;

/// The flags.
#[derive(clap::Args)]
pub struct MergeArgs {
    /// Folders of results of one campaign
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Folder for the combined results
    #[arg(long, value_name = "FOLDER")]
    results: PathBuf,
    /// Replace existing results
    #[arg(long)]
    force: bool,
}

/// Runs `joulio lab merge`.
pub fn run(args: &MergeArgs) -> Outcome {
    let merged = merge(&args.folders, &args.results, Existing::forced(args.force));
    let records = merged?;
    print(&format!(
        "{records} record(s) of {} folder(s) are in {}\n",
        args.folders.len(),
        args.results.display()
    ))
}
