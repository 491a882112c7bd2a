//! Limits of a match.

use joulio_units::Nanos;

/// Limits of a match: the logger's clock error, and the certainty needed.
#[derive(Clone, Copy, Debug)]
pub struct AlignmentLimits {
    /// Largest difference between the clocks that is searched, in either direction.
    pub offset: Nanos,
    /// The largest drift, in parts per million: the offset may change by this between markers.
    pub drift_ppm: f64,
    /// The least correlation of a marker with the trace, 0 to 1.
    pub correlation: f64,
    /// The largest correlation anywhere else, relative to the best.
    pub runner_up: f64,
}

impl Default for AlignmentLimits {
    /// Returns a quarter of an hour, and ten times a HOBO's 23 ppm. A correlation of 0.7 is that of noise as strong as
    /// the marker itself.
    fn default() -> AlignmentLimits {
        AlignmentLimits {
            offset: Nanos::from_millis(900_000),
            drift_ppm: 230.0,
            correlation: 0.7,
            runner_up: 0.9,
        }
    }
}
