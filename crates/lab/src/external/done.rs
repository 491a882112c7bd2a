//! Report of another program.

use joulio_workload::{DirectionResult, LatencySummary, ThreadUsage};

/// Report of another program's measured part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramReport {
    /// Seconds of it.
    pub seconds: f64,
    /// CPU time.
    pub usage: ThreadUsage,
    /// Reads.
    pub read: DirectionResult,
    /// Writes.
    pub write: DirectionResult,
    /// Reads and writes together.
    pub all: DirectionResult,
}

/// Latencies in nanoseconds: `values` are those of [`LatencySummary::PERCENTILES`].
pub fn summary(mean: f64, values: [u64; 4], max: u64) -> LatencySummary {
    let [p50, p90, p99, p999] = values;
    LatencySummary {
        mean,
        p50,
        p90,
        p99,
        p999,
        max,
        ..LatencySummary::default()
    }
}
