//! `joulio lab`: experiments from files: planning, running, merging, comparing, reporting.

mod args;
mod compare;
mod list;
mod merge;
mod plan;
mod report;
mod run;
mod terminal;

use crate::Outcome;
use clap::Subcommand;

/// The subcommands.
#[derive(Subcommand)]
pub enum LabCommand {
    /// List the experiments that come with joulio.
    List(list::ListArgs),
    /// Show what an experiment would run here, how long it takes, and what is unavailable and why.
    Plan(plan::PlanArgs),
    /// Run an experiment, or continue it; results go into a folder.
    Run(run::RunArgs),
    /// Make a page of tables, figures and verdicts from results; it opens offline.
    Report(report::ReportArgs),
    /// Combine the results of shards.
    Merge(merge::MergeArgs),
    /// Compare the results of two folders, point by point.
    Compare(compare::CompareArgs),
}

/// Runs `joulio lab`.
pub fn run(command: &LabCommand) -> Outcome {
    match command {
        LabCommand::List(args) => list::run(args),
        LabCommand::Plan(args) => plan::run(args),
        LabCommand::Run(args) => run::run(args),
        LabCommand::Report(args) => report::run(args),
        LabCommand::Merge(args) => merge::run(args),
        LabCommand::Compare(args) => compare::run(args),
    }
}
