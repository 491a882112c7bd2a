//! Estimates of a population's figures from a sample.

use statrs::statistics::{Data, OrderStatistics, Statistics};

/// Returns the arithmetic mean; zero if there is no value.
pub fn mean(values: &[f64]) -> f64 {
    match values.is_empty() {
        true => 0.0,
        false => values.mean(),
    }
}

/// Returns the variance of the population, estimated from the sample `values`; zero if there are fewer than two.
pub fn variance(values: &[f64]) -> f64 {
    match values.len() < 2 {
        true => 0.0,
        false => values.variance(),
    }
}

/// Returns the median; `None` if there is no value.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Estimates the quantile `q`, 0 to 1, of the population from the sample `values`: Hyndman and Fan's eighth definition,
/// which is median-unbiased for any distribution. `None` if there is no value.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    (!values.is_empty()).then(|| Data::new(values.to_vec()).quantile(q.clamp(0.0, 1.0)))
}
