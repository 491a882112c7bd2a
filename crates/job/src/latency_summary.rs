//! Latency in a few figures.

use crate::IoStatistics;
use joulio_units::Percentile;
use serde::{Deserialize, Serialize};

/// Latency in nanoseconds, from arrival to completion; all zero when there was no I/O.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation, to the width of the histogram's classes; `None`: not kept.
    #[serde(default)]
    pub stddev: Option<f64>,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// 99.99th percentile; `None`: not kept.
    #[serde(default)]
    pub p9999: Option<u64>,
    /// 99.999th percentile; `None`: not kept.
    #[serde(default)]
    pub p99999: Option<u64>,
    /// Longest.
    pub max: u64,
}

impl LatencySummary {
    /// The percentiles that promises are about, the lowest first.
    pub const PERCENTILES: [Percentile; 4] = [
        Percentile::P50,
        Percentile::P90,
        Percentile::P99,
        Percentile::P99_9,
    ];

    /// Nanoseconds of one of these percentiles; `None` of any other.
    pub fn percentile(&self, percentile: Percentile) -> Option<u64> {
        let values = [self.p50, self.p90, self.p99, self.p999];
        let mut all = LatencySummary::PERCENTILES.into_iter().zip(values);
        all.find(|(one, _)| *one == percentile)
            .map(|(_, value)| value)
    }

    /// Summary of the latencies of `statistics`.
    pub fn new(statistics: &IoStatistics) -> LatencySummary {
        let h = &statistics.latency;
        let quantile = |q| {
            if h.is_empty() {
                0
            } else {
                h.value_at_quantile(q)
            }
        };
        LatencySummary {
            mean: statistics.mean().unwrap_or(0.0),
            stddev: (!h.is_empty()).then(|| h.stdev()),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            p9999: (!h.is_empty()).then(|| quantile(0.9999)),
            p99999: (!h.is_empty()).then(|| quantile(0.99999)),
            max: if h.is_empty() { 0 } else { h.max() },
        }
    }
}
