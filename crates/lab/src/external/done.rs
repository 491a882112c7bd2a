//! Results that another program reports.

use joulio_units::Energy;
use joulio_workload::{DirectionResult, LatencySummary, ThreadUsage, Unmetered};

/// Results of the measured part of another program's run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramReport {
    /// Length in seconds.
    pub seconds: f64,
    /// CPU time.
    pub usage: ThreadUsage,
    /// Reads.
    pub read: DirectionResult,
    /// Writes.
    pub write: DirectionResult,
    /// Reads and writes together.
    pub all: DirectionResult,
    /// Energy that the program itself metered or modelled.
    pub energy: Vec<Energy>,
    /// Meters of the program that gave no figure.
    pub unmetered: Vec<Unmetered>,
}

/// Creates a summary of latencies in nanoseconds; `values` are the percentiles of [`LatencySummary::PERCENTILES`].
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
