//! Report of another program.

use joulio_units::Energy;
use joulio_workload::{DirectionResult, LatencySummary, ThreadUsage, Unmetered};

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
    /// Energy that the program itself has metered or modelled.
    pub energy: Vec<Energy>,
    /// Meters of the program without a figure.
    pub unmetered: Vec<Unmetered>,
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
