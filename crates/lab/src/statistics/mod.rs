//! Statistics of repeated measurements: summaries, and tests whether two samples differ.
//!
//! Distributions come from `statrs`. `tests/expected.json` has SciPy's results for the same data; `tests/expected.py`
//! writes it.

mod bootstrap;
mod correction;
mod estimates;
mod fit;
mod interval;
mod student;
mod summary;
mod t_test;
#[cfg(test)]
mod tests;

pub use bootstrap::{Bootstrap, quantile_interval};
pub use correction::Correction;
pub use estimates::{mean, median, quantile, variance};
pub use fit::Quadratic;
pub use interval::Interval;
pub use summary::Summary;
pub use t_test::{Comparison, TTest};

/// Probability with which an interval contains the true value; the rest is that of a false alarm.
pub const CONFIDENCE: f64 = 0.95;

/// Largest probability of a difference as large by chance at which the difference counts as significant.
pub const SIGNIFICANCE: f64 = 1.0 - CONFIDENCE;
