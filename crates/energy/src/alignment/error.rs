//! Errors of an alignment.

/// Reason why there is no alignment.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AlignError {
    /// No marker.
    #[error(
        "no marker: without one the logger's clock cannot be aligned; make one before and after the run"
    )]
    NoMarker,
    /// The edges of a marker are not rising and falling in turn.
    #[error(
        "marker {0}: its edges are not a spin and an idle in turn, each later than the one before"
    )]
    Marker(usize),
    /// The machine's clock was set while the marker was made.
    #[error("marker {marker}: the machine's clock was set by {by:.3} s within it: make it again")]
    ClockSet {
        /// Number of the marker, counted from 1.
        marker: usize,
        /// Seconds by which the clock was set.
        by: f64,
    },
    /// The logger is too slow to see a marker.
    #[error(
        "the log has a sample every {interval} s and a marker's shortest part is {part} s: log at least twice in that"
    )]
    TooSlow {
        /// Seconds between samples.
        interval: f64,
        /// Seconds of a marker's shortest part.
        part: f64,
    },
    /// The marker is not in the trace.
    #[error(
        "marker {marker} is not in the log: its best correlation is {correlation:.2}, and {min:.2} is \
         needed (another log, a wrong date order, a load on the machine, a meter of something else?)"
    )]
    Weak {
        /// Number of the marker, counted from 1.
        marker: usize,
        /// Best correlation; zero where there are no samples.
        correlation: f64,
        /// Lowest correlation at which a marker counts as found.
        min: f64,
    },
    /// The markers fit the trace in more than one place.
    #[error(
        "the markers fit the log in two places: with the logger {one:.1} s and {other:.1} s ahead \
         (correlation {runner_up:.2} of the best)"
    )]
    Ambiguous {
        /// Best offset in seconds.
        one: f64,
        /// Second best offset in seconds.
        other: f64,
        /// Correlation at the other offset, relative to the best.
        runner_up: f64,
    },
}
