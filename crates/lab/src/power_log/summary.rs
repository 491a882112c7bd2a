//! Summary of a logger's record and of its alignment with the machine's clock.

use super::aligned::AlignedLog;
use super::error::PowerLogError;
use super::figures::{LoggedDevicePower, LoggedRunPower};
use super::wall_time::utc;
use super::windows::LoggedWindows;
use joulio_energy::alignment::Alignment;
use joulio_energy::logger::{LogOptions, PowerLog};
use serde::Serialize;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Size of the largest file that is read, in bytes: a logger holds 1.4 million samples, which take less than a tenth of
/// it.
const MAX_BYTES: u64 = 1 << 30;

/// An imported log, as `--output json` prints it.
#[derive(Clone, Debug, Serialize)]
pub struct LogReport {
    /// Summary of the log.
    pub log: LogSummary,
    /// Relation of the logger's clock to the machine's; `None`: without windows.
    pub alignment: Option<AlignmentSummary>,
    /// Power in each window of a person's steps.
    pub windows: Option<Vec<LoggedDevicePower>>,
    /// Power in each run of a bench.
    pub runs: Option<Vec<LoggedRunPower>>,
    /// Names of the windows without a figure, with the reasons.
    pub without_figure: Option<Vec<String>>,
}

/// Summary of a log.
#[derive(Clone, Debug, Serialize)]
pub struct LogSummary {
    /// Serial numbers of the logger and its sensors.
    pub serials: Vec<String>,
    /// Time of the first sample, UTC.
    pub start: String,
    /// Time of the last sample, UTC.
    pub end: String,
    /// Offset of the file's times from UTC, in seconds, positive to the east.
    pub utc_offset_seconds: i32,
    /// Order of month, day and year in the file's dates.
    pub date_order: String,
    /// Interval between samples in seconds.
    pub interval_seconds: f64,
    /// True if a sample is the mean over its interval.
    pub averaged: bool,
    /// Number of samples.
    pub samples: usize,
    /// Number of samples that are missing in gaps.
    pub missing: u64,
    /// Number of gaps.
    pub gaps: usize,
    /// Number of other events that the logger recorded.
    pub events: usize,
    /// True if the end of the file is missing.
    pub truncated: bool,
}

/// Summary of the relation between two clocks.
#[derive(Clone, Debug, Serialize)]
pub struct AlignmentSummary {
    /// Time of the machine's clock for which the offset holds, UTC.
    pub at: String,
    /// Offset of the logger's clock from the machine's, in seconds.
    pub offset_seconds: f64,
    /// Largest error of the offset in seconds.
    pub offset_error_seconds: f64,
    /// Drift of the offset in parts per million; `None`: there is only one marker.
    pub drift_ppm: Option<f64>,
    /// Largest error of the drift in parts per million: the offsets of the first and the last marker may have errors of
    /// opposite sign.
    pub drift_error_ppm: Option<f64>,
    /// Root mean square of the distances between the log's edges and the markers' edges, in seconds.
    pub residual_seconds: Option<f64>,
    /// Lowest correlation of a marker with the trace, 0 to 1.
    pub correlation: f64,
    /// Best correlation at another place, relative to the best one.
    pub runner_up: f64,
    /// Number of markers.
    pub markers: usize,
}

/// Reads the file that a logger exported.
///
/// # Errors
/// The file cannot be read or is not a logger's, or `options` lack what the file does not state.
pub fn read_log(path: &Path, options: &LogOptions) -> Result<PowerLog, PowerLogError> {
    let wrong = |why: &dyn Display| PowerLogError::File {
        path: path.into(),
        why: why.to_string(),
    };
    let file = File::open(path).map_err(|error| wrong(&error))?;
    let mut bytes = vec![];
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| wrong(&error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(wrong(&"too large for a logger's file"));
    }
    PowerLog::import(&bytes, options).map_err(|error| wrong(&error))
}

impl LogReport {
    /// Returns the summary of `log`, with the windows in the files `windows`, if any are named.
    ///
    /// # Errors
    /// A file cannot be read, or the markers are not in the log.
    pub fn new(log: &PowerLog, windows: &[PathBuf]) -> Result<LogReport, PowerLogError> {
        let mut report = LogReport {
            log: LogSummary::of(log),
            alignment: None,
            windows: None,
            runs: None,
            without_figure: None,
        };
        if !windows.is_empty() {
            let aligned = AlignedLog::new(log, &LoggedWindows::load(windows)?)?;
            report.alignment = Some(AlignmentSummary::of(&aligned.alignment));
            report.windows = Some(aligned.figures);
            report.runs = Some(aligned.runs);
            report.without_figure = Some(aligned.failed);
        }
        Ok(report)
    }
}

impl LogSummary {
    fn of(log: &PowerLog) -> LogSummary {
        LogSummary {
            serials: log.serials.clone(),
            start: utc(log.start),
            end: utc(log.end()),
            utc_offset_seconds: log.offset,
            date_order: log.date_order.to_string(),
            interval_seconds: log.interval.seconds(),
            averaged: log.averaged,
            samples: log.samples.len(),
            missing: log.gaps.iter().map(|gap| gap.missing).sum(),
            gaps: log.gaps.len(),
            events: log.events.len(),
            truncated: log.truncated,
        }
    }
}

impl AlignmentSummary {
    fn of(alignment: &Alignment) -> AlignmentSummary {
        AlignmentSummary {
            at: utc(alignment.at),
            offset_seconds: alignment.offset,
            offset_error_seconds: alignment.uncertainty,
            drift_ppm: alignment.drift_ppm,
            drift_error_ppm: drift_error_ppm(alignment),
            residual_seconds: alignment.residual,
            correlation: alignment.correlation,
            runner_up: alignment.runner_up,
            markers: alignment.markers.len(),
        }
    }
}

fn drift_error_ppm(alignment: &Alignment) -> Option<f64> {
    let (first, last) = (alignment.markers.first()?, alignment.markers.last()?);
    let apart = last.at.since(first.at).seconds();
    (apart > 0.0).then(|| 2.0 * alignment.uncertainty / apart * 1e6)
}
