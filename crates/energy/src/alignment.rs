//! Alignment of the clock of an external power logger with the machine's own.
//!
//! A plug logger has its own clock: a HOBO UX120-018 may drift a minute a month, 23 ppm, which is 83 ms an hour, and
//! nobody records its offset when it was set. So the machine writes a marker into the trace itself: all cores spin,
//! then idle, three times ([`Shape`], [`Marker`]). From the pattern's place in the trace [`align`] computes the
//! difference of the two clocks; if the pattern is missing, or could be in several places, there is no alignment and no
//! figure.

mod energy;
mod error;
mod found;
mod limits;
mod line;
mod marker;
mod pattern;
mod residual;
mod search;
mod seconds;
#[cfg(test)]
mod tests;

pub use energy::LoggedEnergyError;
pub use error::AlignError;
pub use found::FoundMarker;
pub use limits::AlignmentLimits;
pub use marker::{Cancelled, Marker, MarkerEdge, Shape};

use crate::logger::PowerLog;
use joulio_units::Nanos;
use line::Line;
use pattern::{MarkerPattern, PowerTrace};
use search::Search;
use seconds::{moved, seconds_between};

/// The relation of a logger's clock to the machine's.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    /// The machine's time, since the epoch, at which `offset` holds: the middle of the markers.
    pub at: Nanos,
    /// The logger's clock less the machine's, in seconds.
    pub offset: f64,
    /// Change of `offset` in parts per million; `None` with one marker.
    pub drift_ppm: Option<f64>,
    /// Error bound of an offset in seconds: half a sample, because nothing shows when between two momentary values an
    /// edge was, and the effect of noise.
    pub uncertainty: f64,
    /// Root mean square, in seconds, of the distances between the markers' edges and the edges in the aligned trace.
    /// Noise moves single edges by more than it moves the offset. `None` where samples are missing at every edge.
    pub residual: Option<f64>,
    /// Lowest correlation of a marker with the trace, 0 to 1.
    pub correlation: f64,
    /// Best correlation at another place, relative to the best: far below 1 is certain.
    pub runner_up: f64,
    /// Each marker, as it was found.
    pub markers: Vec<FoundMarker>,
}

/// Finds the difference between the logger's clock and the machine's. Searches the trace for `markers`, in the order in
/// which they were made, by normalised cross-correlation: for all of them with one offset and a drift within `limits`,
/// and then for each alone to a fraction of a sample.
///
/// # Errors
///
/// [`AlignError`]: there is no marker, or the trace does not show it clearly.
pub fn align(
    log: &PowerLog,
    markers: &[Marker],
    limits: &AlignmentLimits,
) -> Result<Alignment, AlignError> {
    let first = markers.first().and_then(|marker| marker.edges.first());
    let origin = first.ok_or(AlignError::NoMarker)?.realtime;
    let trace = PowerTrace::new(log, origin);
    let mut patterns = Vec::with_capacity(markers.len());
    for (at, marker) in markers.iter().enumerate() {
        let pattern = MarkerPattern::new(marker, at + 1, origin, trace.interval)?;
        // The search needs the markers in the order of time.
        if patterns
            .last()
            .is_some_and(|last: &MarkerPattern| pattern.middle() <= last.middle())
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
        .map(|(pattern, (offset, correlation))| FoundMarker {
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

/// Returns the error bound: half a sample, and half as much again for noise as strong as the marker: six edges average
/// it, and three times its deviation is allowed for.
fn uncertainty(interval: f64, correlation: f64) -> f64 {
    let noise = (1.0 / (correlation * correlation) - 1.0).max(0.0).sqrt();
    interval / 2.0 * (1.0 + 1.5 * noise)
}

impl Alignment {
    /// Returns the logger's time, since the epoch, at the machine's time `host`. Beyond the markers the nearest one's
    /// offset is used: a drift found between them is not extrapolated.
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
