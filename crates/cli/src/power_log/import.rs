//! `joulio power import`: what a logger at the plug recorded, put on the machine's clock.

use super::figures::table;
use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, Output, print, print_json};
use clap::ValueEnum;
use joulio_energy::alignment::Alignment;
use joulio_energy::logger::{self, LogOptions, PowerLog};
use joulio_lab::power_log::AlignedLog;
use joulio_lab::power_log::wall_time::utc;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// A logger holds 1.4 million samples: less than a tenth of this.
const LARGEST: u64 = 1 << 30;

/// Read a plug logger's export, and give windows their energy at the wall
///
/// The export is the CSV that HOBOware writes of a HOBO UX120-018. The windows are those of joulio
/// power swap; its markers, or those of joulio power marker, show how the logger's clock stood.
#[derive(clap::Args)]
pub struct ImportArgs {
    /// The export
    file: PathBuf,
    /// The file of joulio power swap or joulio power marker
    #[arg(long, value_name = "FILE")]
    windows: Option<PathBuf>,
    /// Month, day and year in the export's dates, where they can be read in more than one order
    #[arg(long, value_enum)]
    date_order: Option<DateOrder>,
    /// The decimal separator of the export's numbers, where they can be read with either
    #[arg(long, value_enum)]
    decimal: Option<Decimal>,
    #[command(flatten)]
    output: Output,
}

/// `--date-order`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DateOrder {
    /// 07/14/22.
    Mdy,
    /// 14/07/22.
    Dmy,
    /// 22/07/14.
    Ymd,
}

/// `--decimal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Decimal {
    /// 88.4.
    Point,
    /// 88,4.
    Comma,
}

/// `joulio power import`.
pub fn import(args: &ImportArgs) -> Outcome {
    let log = args.log()?;
    let aligned = match &args.windows {
        Some(path) => Some(AlignedLog::new(&log, path)?),
        None => None,
    };
    match args.output.format {
        Format::Json => print_json(&json!({
            "log": log_json(&log),
            "alignment": aligned.as_ref().map(|aligned| alignment_json(&aligned.alignment)),
            "windows": aligned.as_ref().map(|aligned| &aligned.figures),
            "without_figure": aligned.as_ref().map(|aligned| &aligned.failed),
        }))?,
        Format::Normal => {
            let mut text = log_text(&log);
            if let Some(aligned) = &aligned {
                text += &alignment_text(&aligned.alignment);
                text += &format!("\n{}", table(&aligned.figures));
            }
            print(&text)?;
        }
    }
    match aligned.iter().find_map(|aligned| aligned.failed.first()) {
        Some(why) => Err(Failure::run(why)),
        None => Ok(()),
    }
}

impl ImportArgs {
    fn log(&self) -> Result<PowerLog, Failure> {
        let name = self.file.display();
        let wrong = |why: &dyn std::fmt::Display| Failure::input(format!("{name}: {why}"));
        let file = File::open(&self.file).map_err(|error| wrong(&error))?;
        let mut bytes = vec![];
        let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
        read.map_err(|error| wrong(&error))?;
        if bytes.len() as u64 > LARGEST {
            return Err(wrong(&"too large for a logger's file"));
        }
        let options = LogOptions {
            date_order: self.date_order.map(|order| match order {
                DateOrder::Mdy => logger::DateOrder::MonthDayYear,
                DateOrder::Dmy => logger::DateOrder::DayMonthYear,
                DateOrder::Ymd => logger::DateOrder::YearMonthDay,
            }),
            decimal: self.decimal.map(|decimal| match decimal {
                Decimal::Point => logger::Decimal::Point,
                Decimal::Comma => logger::Decimal::Comma,
            }),
        };
        PowerLog::import(&bytes, &options).map_err(|error| wrong(&error))
    }
}

fn missing(log: &PowerLog) -> u64 {
    log.gaps.iter().map(|gap| gap.missing).sum()
}

fn log_text(log: &PowerLog) -> String {
    let mut text = format!(
        "log    logger {}, {} samples, one every {} s, from {} to {} by its clock\n",
        log.serials.join(", "),
        log.samples.len(),
        log.interval.seconds(),
        utc(log.start),
        utc(log.end())
    );
    if !log.gaps.is_empty() {
        let _ = writeln!(
            text,
            "       {} samples missing in {} gaps",
            missing(log),
            log.gaps.len()
        );
    }
    if log.truncated {
        text += "       the last line is incomplete: the file was cut\n";
    }
    text
}

fn log_json(log: &PowerLog) -> Value {
    json!({
        "serials": log.serials,
        "start": utc(log.start),
        "end": utc(log.end()),
        "utc_offset_seconds": log.offset,
        "date_order": log.date_order.to_string(),
        "interval_seconds": log.interval.seconds(),
        "averaged": log.averaged,
        "samples": log.samples.len(),
        "missing": missing(log),
        "gaps": log.gaps.len(),
        "events": log.events.len(),
        "truncated": log.truncated,
    })
}

fn alignment_text(alignment: &Alignment) -> String {
    let error = alignment.uncertainty;
    let mut text = format!(
        "clock  the logger's is {:+.2} s (within {error:.2} s) from the machine's at {}\n",
        alignment.offset,
        utc(alignment.at)
    );
    if let (Some(drift), Some(apart)) = (alignment.drift_ppm, drift_error_ppm(alignment)) {
        let _ = writeln!(text, "       drift {drift:+.1} ppm (within {apart:.1} ppm)");
    }
    let residual = alignment.residual;
    let _ = writeln!(
        text,
        "       {} markers, edges {} s off, correlation {:.2}, elsewhere {:.2} of it",
        alignment.markers.len(),
        residual.map_or("?".into(), |residual| format!("{residual:.2}")),
        alignment.correlation,
        alignment.runner_up
    );
    text
}

fn alignment_json(alignment: &Alignment) -> Value {
    json!({
        "at": utc(alignment.at),
        "offset_seconds": alignment.offset,
        "offset_error_seconds": alignment.uncertainty,
        "drift_ppm": alignment.drift_ppm,
        "drift_error_ppm": drift_error_ppm(alignment),
        "residual_seconds": alignment.residual,
        "correlation": alignment.correlation,
        "runner_up": alignment.runner_up,
        "markers": alignment.markers.len(),
    })
}

/// The first and the last marker's offsets may be off to opposite sides.
fn drift_error_ppm(alignment: &Alignment) -> Option<f64> {
    let (first, last) = (alignment.markers.first()?, alignment.markers.last()?);
    let apart = last.at.since(first.at).seconds();
    (apart > 0.0).then(|| 2.0 * alignment.uncertainty / apart * 1e6)
}
