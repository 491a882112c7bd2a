//! Estimates of a population by a sample of it.

use statrs::statistics::{Data, OrderStatistics, Statistics};

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

/// Estimates the quantile `q`, 0 to 1, of the population from which `values` are a sample: Hyndman and Fan's eighth
/// estimate, unbiased of the median whatever the distribution. `None` without a value.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    (!values.is_empty()).then(|| Data::new(values.to_vec()).quantile(q.clamp(0.0, 1.0)))
}
