//! The clock of a logger that stands beside the machine, against the machine's own.
//!
//! A plug logger keeps its own time: a HOBO UX120-018 is allowed a minute a month, 23 ppm, which is
//! 83 ms an hour, and nobody tells how far off it was set. So the machine writes a mark into the
//! trace itself: all cores spin, then idle, three times ([`Shape`], [`Marker`]). Where that pattern
//! is in the trace, [`align`] tells how the two clocks differ; where it is not, or could be in
//! several places, there is no alignment and no figure.

mod energy;
mod marker;
mod pattern;
mod residual;
mod search;
#[cfg(test)]
mod tests;

pub use energy::WindowError;
pub use marker::{Cancelled, Edge, Marker, Shape};

use crate::logger::PowerLog;
use joulio_units::Nanos;
use pattern::{Pattern, Trace};
use search::Search;

/// Limits of a match: the logger's clock error, and the certainty needed.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest difference between the clocks that is looked for, to either side.
    pub offset: Nanos,
    /// The largest drift, in parts per million: the offset may change by this between markers.
    pub drift_ppm: f64,
    /// The least correlation of a marker with the trace, 0 to 1.
    pub correlation: f64,
    /// The largest correlation anywhere else, relative to the best.
    pub runner_up: f64,
}

impl Default for Limits {
    /// A quarter of an hour, ten times a HOBO's 23 ppm. A correlation of 0.7 is that of noise as
    /// strong as the marker itself.
    fn default() -> Limits {
        Limits {
            offset: Nanos::from_millis(900_000),
            drift_ppm: 230.0,
            correlation: 0.7,
            runner_up: 0.9,
        }
    }
}

/// The relation of a logger's clock to the machine's.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    /// The machine's time, since the epoch, that `offset` is for: the middle of the markers.
    pub at: Nanos,
    /// The logger's clock less the machine's, in seconds.
    pub offset: f64,
    /// Growth of `offset` in parts per million. None with one marker.
    pub drift_ppm: Option<f64>,
    /// Error bound of an offset in seconds: half a sample, because nothing tells where
    /// between two momentary values an edge was, and what the noise adds.
    pub uncertainty: f64,
    /// Root mean square, in seconds, of the distances between the markers' edges and the edges in
    /// the aligned trace. Noise moves single edges by more than it moves the offset. None where
    /// samples are missing at every edge.
    pub residual: Option<f64>,
    /// The least correlation of a marker with the trace, 0 to 1.
    pub correlation: f64,
    /// The best correlation elsewhere, relative to the best: far below 1 is sure.
    pub runner_up: f64,
    /// Each marker.
    pub markers: Vec<Found>,
}

/// Where a marker was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The middle of the marker by the machine's clock, since the epoch.
    pub at: Nanos,
    /// The logger's clock less the machine's, in seconds.
    pub offset: f64,
    /// Agreement of trace and marker, 0 to 1.
    pub correlation: f64,
}

/// Why there is no alignment.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AlignError {
    /// No marker was made.
    #[error(
        "no marker: without one the logger's clock cannot be aligned; make one before and after the run"
    )]
    NoMarker,
    /// A marker's edges are not those of a marker.
    #[error(
        "marker {0}: its edges are not a spin and an idle in turn, each later than the one before"
    )]
    Marker(usize),
    /// The machine's clock was set while the marker was made.
    #[error("marker {marker}: the machine's clock was set by {by:.3} s within it: make it again")]
    ClockSet {
        /// Which, counted from 1.
        marker: usize,
        /// Distance in seconds.
        by: f64,
    },
    /// The logger is too slow to see a marker.
    #[error(
        "the log has a sample every {interval} s and a marker's shortest part is {part} s: log at least twice in that"
    )]
    TooSlow {
        /// Seconds between samples.
        interval: f64,
        /// Seconds.
        part: f64,
    },
    /// The marker is not in the trace.
    #[error(
        "marker {marker} is not in the log: its best correlation is {correlation:.2}, and {least:.2} is \
         needed (another log, a wrong date order, a load on the machine, a meter of something else?)"
    )]
    Weak {
        /// Which, counted from 1.
        marker: usize,
        /// The best correlation; zero where there are no samples.
        correlation: f64,
        /// The correlation needed.
        least: f64,
    },
    /// The markers fit the trace in more than one place.
    #[error(
        "the markers fit the log in two places: with the logger {one:.1} s and {other:.1} s ahead \
         (correlation {runner_up:.2} of the best)"
    )]
    Ambiguous {
        /// The best offset, in seconds.
        one: f64,
        /// Another, in seconds.
        other: f64,
        /// The correlation there, relative to the best.
        runner_up: f64,
    },
}

/// Finds how the logger's clock stands to the machine's: each of `markers`, in the order in which
/// they were made, is looked for in the trace by normalised cross-correlation, all of them with one
/// offset and a drift within `limits`, and then each by itself to a fraction of a sample.
///
/// # Errors
///
/// [`AlignError`]: there is no marker, or the trace does not show it clearly.
pub fn align(log: &PowerLog, markers: &[Marker], limits: &Limits) -> Result<Alignment, AlignError> {
    let first = markers.first().and_then(|marker| marker.edges.first());
    let origin = first.ok_or(AlignError::NoMarker)?.realtime;
    let trace = Trace::new(log, origin);
    let mut patterns = Vec::with_capacity(markers.len());
    for (at, marker) in markers.iter().enumerate() {
        let pattern = Pattern::new(marker, at + 1, origin, trace.interval)?;
        // The search takes markers in the order of time.
        if patterns
            .last()
            .is_some_and(|last: &Pattern| pattern.middle() <= last.middle())
        {
            return Err(AlignError::Marker(at + 1));
        }
        patterns.push(pattern);
    }
    let search = Search::new(&trace, &patterns, limits);
    let (offsets, runner_up) = search.run()?;
    let found: Vec<_> = patterns
        .iter()
        .zip(offsets)
        .map(|(pattern, (offset, correlation))| Found {
            at: moved(origin, pattern.middle()),
            offset,
            correlation,
        })
        .collect();
    let line = Line::through(&patterns, &found);
    let correlations = found.iter().map(|found| found.correlation);
    let correlation = correlations.fold(1.0, f64::min);
    let residual = residual::of(&trace, &patterns, &line);
    Ok(Alignment {
        at: moved(origin, line.middle),
        offset: line.offset,
        drift_ppm: (found.len() > 1).then_some(line.slope * 1e6),
        uncertainty: uncertainty(trace.interval, correlation),
        residual,
        correlation,
        runner_up,
        markers: found,
    })
}

/// Half a sample, and as much again for noise as strong as the marker: six edges average it, and
/// twice its deviation is allowed for.
fn uncertainty(interval: f64, correlation: f64) -> f64 {
    let noise = (1.0 / (correlation * correlation) - 1.0).max(0.0).sqrt();
    interval / 2.0 * (1.0 + noise)
}

/// `seconds` after `origin`.
fn moved(origin: Nanos, seconds: f64) -> Nanos {
    let nanos = (seconds * 1e9) as i64;
    Nanos(origin.0.saturating_add_signed(nanos))
}

/// Seconds from `origin` to `at`.
fn seconds_between(origin: Nanos, at: Nanos) -> f64 {
    at.since(origin).seconds() - origin.since(at).seconds()
}

/// The offset as it changes with time: least squares through what was found.
struct Line {
    middle: f64,
    offset: f64,
    slope: f64,
}

impl Line {
    fn through(patterns: &[Pattern], found: &[Found]) -> Line {
        let count = found.len() as f64;
        let times = patterns.iter().map(Pattern::middle);
        let middle = times.clone().sum::<f64>() / count;
        let offset = found.iter().map(|found| found.offset).sum::<f64>() / count;
        let spread: f64 = times.clone().map(|time| (time - middle).powi(2)).sum();
        let both = times.zip(found);
        let common: f64 = both
            .map(|(time, found)| (time - middle) * (found.offset - offset))
            .sum();
        let slope = if spread > 0.0 { common / spread } else { 0.0 };
        Line {
            middle,
            offset,
            slope,
        }
    }

    fn at(&self, time: f64) -> f64 {
        self.offset + self.slope * (time - self.middle)
    }
}

impl Alignment {
    /// The logger's time, since the epoch, at the machine's time `host`. Beyond the markers the
    /// nearest one's offset holds: a drift found between them is not drawn out.
    pub fn logger_time(&self, host: Nanos) -> Nanos {
        let clamped = match (self.markers.first(), self.markers.last()) {
            (Some(first), Some(last)) => host.clamp(first.at, last.at.max(first.at)),
            _ => host,
        };
        let drift = self.drift_ppm.unwrap_or(0.0) * 1e-6;
        let offset = self.offset + drift * seconds_between(self.at, clamped);
        moved(host, offset)
    }
}
