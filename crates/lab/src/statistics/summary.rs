//! Summary of a sample.

use super::Interval;
use super::estimates::{median, variance};
use serde::Serialize;

/// Summary of repeated measurements of one figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of measurements.
    pub n: usize,
    /// Arithmetic mean with its 95 % interval, which is infinitely wide for a single measurement.
    pub mean: Interval,
    /// Median.
    pub median: f64,
    /// Standard deviation of the sample; zero for a single measurement.
    pub deviation: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Summary {
    /// Summarises `values`; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Summary> {
        Some(Summary {
            n: values.len(),
            mean: Interval::of(values, 0.0),
            median: median(values)?,
            deviation: variance(values).sqrt(),
            min: values.iter().copied().min_by(f64::total_cmp)?,
            max: values.iter().copied().max_by(f64::total_cmp)?,
        })
    }
}
