//! `joulio lab report`: makes tables, figures and verdicts from results.

use crate::Outcome;
use crate::columns::clean;
use crate::failure::Failure;
use crate::output::{print, terminal_width};
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use joulio_lab::campaign::report;
use joulio_lab::experiment_file::ExperimentFile;
use joulio_lab::report::{LabReport, findings, write};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Width in characters if there is no terminal.
const WIDTH: u16 = 100;

/// The flags.
#[derive(clap::Args)]
pub struct ReportArgs {
    /// Folders of results of joulio lab run; those of the same experiment are shown together
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Show the tables and figures of this experiment (a name or the path of a .toml file) instead of those that the
    /// folders had when they were run
    #[arg(long)]
    experiment: Option<String>,
    /// Folder for the report; its earlier files are replaced. Default: report in the first folder, or beside it if it
    /// is a single file
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Runs `joulio lab report`.
pub fn run(args: &ReportArgs) -> Outcome {
    let file = args.experiment.as_deref().map(ExperimentFile::load);
    let file = file.transpose().map_err(Failure::input)?;
    let report = report(&args.folders, file.as_ref()).map_err(Failure::input)?;
    let folder = args.output.clone();
    let folder = folder.unwrap_or_else(|| usual(&args.folders[0]));
    let written = write(&report, &folder)?;
    print(&text(&report, &written.display().to_string()))
}

/// Returns the default folder of the report: in the folder of results, or beside a single file of results.
fn usual(results: &Path) -> PathBuf {
    match results.parent() {
        Some(parent) if results.is_file() => parent.join("report"),
        _ => results.join("report"),
    }
}

fn text(report: &LabReport, page: &str) -> String {
    let mut text = String::new();
    for experiment in &report.experiments {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", clean(&experiment.title));
    }
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    // As wide as the lines that `print` makes, which would break longer ones again.
    let columns = terminal_width().and_then(|columns| u16::try_from(columns).ok());
    table.set_width(columns.unwrap_or(WIDTH));
    for finding in findings(report) {
        let said = format!("{}\n({})", finding.sentence, finding.certainty);
        table.add_row([finding.verdict(), said]);
    }
    for line in table.lines() {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let _ = writeln!(
        text,
        "\nThe page: {page}\nBeside it report.md, report.json and, in data/, a CSV file of each table and figure, and of the\nobservations."
    );
    text
}
