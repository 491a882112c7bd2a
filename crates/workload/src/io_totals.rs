//! Counts and latencies of I/Os by operation.

use joulio_job::IoStatistics;
use joulio_units::Operation;
use serde::{Deserialize, Serialize};

/// Statistics of each operation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct IoTotals {
    pub(crate) read: IoStatistics,
    pub(crate) write: IoStatistics,
    pub(crate) trim: IoStatistics,
    /// Flushes of both kinds: of data alone, and of data and metadata.
    pub(crate) sync: IoStatistics,
}

impl IoTotals {
    /// Returns the statistics of `operation`.
    #[inline]
    pub(crate) fn of(&mut self, operation: Operation) -> &mut IoStatistics {
        match operation {
            Operation::Read => &mut self.read,
            Operation::Write => &mut self.write,
            Operation::Trim => &mut self.trim,
            Operation::Sync | Operation::DataSync => &mut self.sync,
        }
    }

    /// Discards all counts.
    pub(crate) fn clear(&mut self) {
        self.read.clear();
        self.write.clear();
        self.trim.clear();
        self.sync.clear();
    }

    /// Adds the I/Os of `other`.
    pub(crate) fn add(&mut self, other: &IoTotals) {
        self.read.add(&other.read);
        self.write.add(&other.write);
        self.trim.add(&other.trim);
        self.sync.add(&other.sync);
    }

    /// Returns the statistics of reads, writes and trims together: the operations that a job requests.
    pub(crate) fn all(&self) -> IoStatistics {
        let mut all = self.read.clone();
        all.add(&self.write);
        all.add(&self.trim);
        all
    }
}
