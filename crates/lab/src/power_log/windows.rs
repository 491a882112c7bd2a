//! Windows and markers from files: those of a person's steps, and the runs of a bench.

use super::error::PowerLogError;
use super::state::{SwapState, SwapWindow, read};
use crate::record::Point;
use joulio_energy::alignment::Marker;
use joulio_units::Nanos;
use joulio_workload::{Spoiled, SpoiledBy};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::path::{Path, PathBuf};

/// Windows whose energy is read from a logger's record, and the markers with which its clock is determined.
#[derive(Clone, Debug, Default)]
pub struct LoggedWindows {
    /// Markers in order of time.
    pub markers: Vec<Marker>,
    /// Windows from `joulio power swap`.
    pub devices: Vec<SwapWindow>,
    /// Runs from `joulio bench`.
    pub runs: Vec<RunWindow>,
}

/// The measured part of a run; with fixed work in a fixed window, the whole window.
#[derive(Clone, Debug, PartialEq)]
pub struct RunWindow {
    /// Factors by which the run differs from the others, and its repetition: `iodepth 8, repetition 2`.
    pub name: String,
    /// Start since 1970, by the machine's clock.
    pub start: Nanos,
    /// End.
    pub end: Nanos,
    /// Number of I/Os in it.
    pub ios: u64,
    /// Seconds in which they were done, with a fixed window the whole window: another program's start and ramp are
    /// between `start` and `end` too.
    pub seconds: f64,
    /// Reason why its times cannot be matched with a logger's record; `None`: they can.
    pub unplaced: Option<String>,
}

/// Key that distinguishes a report of a bench from other files.
#[derive(Deserialize)]
struct Kind {
    runs: Option<IgnoredAny>,
}

/// Part of `joulio bench --output json` that is needed here.
#[derive(Deserialize)]
struct BenchReport {
    runs: Vec<BenchRun>,
}

#[derive(Deserialize)]
struct BenchRun {
    point: Point,
    replicate: u32,
    modelled: bool,
    begin: Option<At>,
    end: Option<At>,
    seconds: Option<f64>,
    all: Option<Ios>,
    window: Option<AfterWork>,
    #[serde(default)]
    spoiled: Vec<Spoiled>,
}

#[derive(Deserialize)]
struct At {
    unix_seconds: f64,
}

/// Part of a fixed window after the work was done.
#[derive(Deserialize)]
struct AfterWork {
    idle_seconds: f64,
}

#[derive(Deserialize)]
struct Ios {
    ios: u64,
}

impl LoggedWindows {
    /// Loads all of `paths`, each a file of `joulio power swap`, of `joulio power marker` or of `joulio bench
    /// --output json`.
    ///
    /// # Errors
    /// A file cannot be read, is none of these, or has runs in virtual time.
    pub fn load(paths: &[PathBuf]) -> Result<LoggedWindows, PowerLogError> {
        let mut all = LoggedWindows::default();
        for path in paths {
            let text = read(path)?;
            let kind = serde_json::from_str::<Kind>(&text);
            if kind.is_ok_and(|kind| kind.runs.is_some()) {
                all.runs.extend(runs(path, &text)?);
            } else {
                let state = SwapState::parse(path, &text)?;
                all.markers.extend(state.markers());
                all.devices.extend(state.windows);
            }
        }
        // The markers are sorted by time, in whatever order the files are named.
        let begins = |marker: &Marker| marker.edges.first().map(|edge| edge.realtime);
        all.markers.sort_by_key(begins);
        Ok(all)
    }
}

/// Returns the runs of a bench that did I/O; unavailable runs took no time.
fn runs(path: &Path, text: &str) -> Result<Vec<RunWindow>, PowerLogError> {
    let wrong = |why: String| PowerLogError::File {
        path: path.into(),
        why,
    };
    let report: BenchReport = serde_json::from_str(text)
        .map_err(|error| wrong(format!("not a report of joulio bench: {error}")))?;
    if report.runs.iter().any(|run| run.modelled) {
        return Err(wrong(
            "its runs are of virtual time: no logger saw them".into(),
        ));
    }
    let repeated = report.runs.iter().any(|run| run.replicate > 1);
    let first = report.runs.first().map(|run| &run.point);
    let varies = |name: &str| {
        let value = first.and_then(|point| point.get(name));
        report.runs.iter().any(|run| run.point.get(name) != value)
    };
    let window = |run: &BenchRun| {
        let (begin, end) = run.begin.as_ref().zip(run.end.as_ref())?;
        let factors = run.point.iter().filter(|(name, _)| varies(name));
        let factors = factors.map(|(name, value)| format!("{name} {value}"));
        let repetition = repeated.then(|| format!("repetition {}", run.replicate));
        let name: Vec<String> = factors.chain(repetition).collect();
        let idle = run
            .window
            .as_ref()
            .map_or(0.0, |window| window.idle_seconds);
        // A run reads the wall clock at its end and computes its start, so a change of the clock makes the start wrong.
        let moved = |spoiled: &&Spoiled| {
            matches!(spoiled.by, SpoiledBy::ClockStepped | SpoiledBy::Suspended)
        };
        let from_begin_to_end = end.unix_seconds - begin.unix_seconds;
        Some(RunWindow {
            seconds: run.seconds.unwrap_or(from_begin_to_end) + idle,
            name: match name.is_empty() {
                true => "the run".into(),
                false => name.join(", "),
            },
            start: Nanos::from_seconds(begin.unix_seconds),
            end: Nanos::from_seconds(end.unix_seconds + idle),
            ios: run.all.as_ref()?.ios,
            unplaced: run.spoiled.iter().find(moved).map(|one| one.why.clone()),
        })
    };
    Ok(report.runs.iter().filter_map(window).collect())
}
