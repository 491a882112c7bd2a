//! `joulio power import`: relates the record of a logger at the plug to the machine's clock.

use super::figures::{of_devices, of_runs};
use super::log_args::LogArgs;
use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, Output, print, print_json};
use joulio_lab::power_log::{AlignmentSummary, LogReport, LogSummary, read_log};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Read a plug logger's export, and give windows their energy at the wall
///
/// The export is the CSV that HOBOware writes of a HOBO UX120-018. The windows are those of joulio
/// power swap, or the runs of joulio bench --output json; markers, of joulio power swap or joulio
/// power marker, show how the logger's clock stood.
#[derive(clap::Args)]
pub struct ImportArgs {
    /// Export of the logger
    file: PathBuf,
    /// File of joulio power swap, joulio power marker or joulio bench --output json. Repeatable, as for a bench's
    /// runs and the markers around them
    #[arg(long, value_name = "FILE")]
    windows: Vec<PathBuf>,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    output: Output,
}

/// Runs `joulio power import`.
pub fn import(args: &ImportArgs) -> Outcome {
    let log = read_log(&args.file, &args.log.options())?;
    let report = LogReport::new(&log, &args.windows)?;
    match args.output.format() {
        Format::Json => print_json(&report)?,
        Format::Normal => {
            let mut text = log_text(&report.log);
            if let Some(alignment) = &report.alignment {
                text += &alignment_text(alignment);
            }
            let devices = report.windows.iter().filter(|all| !all.is_empty());
            let runs = report.runs.iter().filter(|all| !all.is_empty());
            let tables = devices.map(|all| of_devices(all));
            for table in tables.chain(runs.map(|all| of_runs(all))) {
                text += &format!("\n{table}");
            }
            print(&text)?;
        }
    }
    match report.without_figure.iter().flatten().next() {
        Some(why) => Err(Failure::run(why)),
        None => Ok(()),
    }
}

fn log_text(log: &LogSummary) -> String {
    let mut text = format!(
        "log    logger {}, {} samples, one every {} s, from {} to {} by its clock\n",
        log.serials.join(", "),
        log.samples,
        log.interval_seconds,
        log.start,
        log.end
    );
    if log.gaps > 0 {
        let _ = writeln!(
            text,
            "       {} samples missing in {} gaps",
            log.missing, log.gaps
        );
    }
    if log.truncated {
        text += "       the last line is incomplete: the file was cut\n";
    }
    text
}

fn alignment_text(alignment: &AlignmentSummary) -> String {
    let mut text = format!(
        "clock  the logger's is {:+.2} s (within {:.2} s) from the machine's at {}\n",
        alignment.offset_seconds, alignment.offset_error_seconds, alignment.at
    );
    if let (Some(drift), Some(apart)) = (alignment.drift_ppm, alignment.drift_error_ppm) {
        let _ = writeln!(text, "       drift {drift:+.1} ppm (within {apart:.1} ppm)");
    }
    let residual = alignment.residual_seconds;
    let _ = writeln!(
        text,
        "       {} markers, edges {} s off, correlation {:.2}, elsewhere {:.2} of it",
        alignment.markers,
        residual.map_or("?".into(), |residual| format!("{residual:.2}")),
        alignment.correlation,
        alignment.runner_up
    );
    text
}
