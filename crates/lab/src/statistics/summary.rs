//! A sample in a few figures.

use super::Interval;
use serde::Serialize;
use statrs::statistics::{Data, OrderStatistics, Statistics};

/// Repeated measurements of one figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of measurements.
    pub n: usize,
    /// Arithmetic mean, with its 95 % interval: infinitely wide of a single measurement.
    pub mean: Interval,
    /// Median.
    pub median: f64,
    /// Standard deviation of the sample; zero of a single measurement.
    pub deviation: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Summary {
    /// The summary of `values`; `None` without any.
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

/// Arithmetic mean; zero without a value.
pub fn mean(values: &[f64]) -> f64 {
    match values.is_empty() {
        true => 0.0,
        false => values.mean(),
    }
}

/// Variance of the population that `values` are a sample of; zero of fewer than two.
pub fn variance(values: &[f64]) -> f64 {
    match values.len() < 2 {
        true => 0.0,
        false => values.variance(),
    }
}

/// Median; `None` without a value.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile `q`, 0 to 1, of the population that `values` are a sample of: Hyndman and Fan's
/// eighth estimate, unbiased of the median whatever the distribution. `None` without a value.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    (!values.is_empty()).then(|| Data::new(values.to_vec()).quantile(q.clamp(0.0, 1.0)))
}
