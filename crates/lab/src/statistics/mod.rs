//! Statistics of repeated measurements: what they are in a few figures, and whether two differ.
//!
//! Distributions are those of `statrs`; `tests/expected.json` has what SciPy makes of the same data, and
//! `tests/expected.py` made it.

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

/// Probability that an interval has the true value, and one less that of a false alarm.
pub const CONFIDENCE: f64 = 0.95;

/// Largest probability of a difference as large by chance, at which the difference counts.
pub const SIGNIFICANCE: f64 = 1.0 - CONFIDENCE;
