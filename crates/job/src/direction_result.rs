//! The result of one direction.

use crate::{IoStatistics, LatencyDetail, LatencySummary};
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// Counts and rates of one direction, or of both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionResult {
    /// I/Os that succeeded.
    pub ios: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth_bytes_per_second: f64,
    /// Latencies in nanoseconds.
    pub latency_ns: LatencySummary,
}

impl DirectionResult {
    /// Returns the result of `statistics` that were counted in `window`, with the parts that `detail` requests.
    pub fn detailed(
        statistics: &IoStatistics,
        window: Nanos,
        detail: &LatencyDetail,
    ) -> DirectionResult {
        let usual = DirectionResult::new(statistics, window);
        DirectionResult {
            latency_ns: usual.latency_ns.with_detail(statistics, detail),
            ..usual
        }
    }

    /// Returns the result of `statistics` that were counted in `window`.
    pub fn new(statistics: &IoStatistics, window: Nanos) -> DirectionResult {
        let per_second = |n: u64| {
            if window == Nanos::ZERO {
                0.0
            } else {
                n as f64 / window.seconds()
            }
        };
        DirectionResult {
            ios: statistics.ios,
            errors: statistics.errors,
            iops: per_second(statistics.ios),
            bandwidth_bytes_per_second: per_second(statistics.bytes),
            latency_ns: LatencySummary::new(statistics),
        }
    }
}
