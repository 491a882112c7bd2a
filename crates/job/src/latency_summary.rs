//! Latency in a few figures.

use crate::{IoStatistics, LatencyDetail};
use joulio_units::Percentile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Latency in nanoseconds, from arrival to completion; all zero when there was no I/O.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Shortest; `None`: not kept.
    #[serde(default)]
    pub min: Option<u64>,
    /// Longest.
    pub max: u64,
    /// Percentiles of `--percentile_list`, named as fio's JSON names them: `99.900000`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub percentile: BTreeMap<String, u64>,
    /// I/Os of each class of the histogram by the longest latency of the class: all that a percentile
    /// needs; empty: not kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bins: BTreeMap<u64, u64>,
}

impl LatencySummary {
    /// The percentiles that a promise may have, the lowest first.
    pub const PERCENTILES: [Percentile; 4] = [
        Percentile::P50,
        Percentile::P90,
        Percentile::P99,
        Percentile::P99_9,
    ];

    /// Returns one of these percentiles in nanoseconds; `None` for any other percentile.
    pub fn percentile(&self, percentile: Percentile) -> Option<u64> {
        let values = [self.p50, self.p90, self.p99, self.p999];
        let mut all = LatencySummary::PERCENTILES.into_iter().zip(values);
        all.find(|(one, _)| *one == percentile)
            .map(|(_, value)| value)
    }

    /// Returns a summary of the latencies of `statistics`.
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
            min: (!h.is_empty()).then(|| h.min()),
            max: if h.is_empty() { 0 } else { h.max() },
            percentile: BTreeMap::new(),
            bins: BTreeMap::new(),
        }
    }

    /// Returns the summary with the parts of `statistics` that `detail` requests.
    pub fn with_detail(mut self, statistics: &IoStatistics, detail: &LatencyDetail) -> Self {
        let h = &statistics.latency;
        if !h.is_empty() {
            let named = |p: &f64| (format!("{p:.6}"), h.value_at_quantile(p / 100.0));
            self.percentile = detail.percentiles.iter().map(named).collect();
        }
        if detail.bins {
            let bins = h.iter_recorded();
            let bins = bins.map(|bin| (bin.value_iterated_to(), bin.count_since_last_iteration()));
            self.bins = bins.collect();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_units::Nanos;

    #[test]
    fn bins_have_all_ios_and_percentiles_are_of_them() {
        let mut statistics = IoStatistics::new();
        for us in 1..=1_000 {
            statistics.success(Nanos::from_micros(us), 4096);
        }
        let detail = LatencyDetail {
            percentiles: vec![95.0],
            bins: true,
        };
        let summary = LatencySummary::new(&statistics).with_detail(&statistics, &detail);
        assert_eq!(summary.bins.values().sum::<u64>(), 1_000);
        let shortest = summary.min.expect("the shortest");
        assert!((990..=1_000).contains(&shortest), "{shortest}");
        let up_to: u64 = summary.bins.range(..=951_000).map(|bin| bin.1).sum();
        assert!((949..=951).contains(&up_to), "{up_to}");
        let p95 = summary.percentile["95.000000"];
        assert!((949_000..952_000).contains(&p95), "{p95}");
        let json = serde_json::to_string(&summary).expect("JSON");
        assert_eq!(
            serde_json::from_str::<LatencySummary>(&json).ok(),
            Some(summary)
        );
        let nothing = LatencySummary::default().with_detail(&IoStatistics::new(), &detail);
        assert_eq!(nothing, LatencySummary::default());
    }
}
