//! The figures of one device of a run.

use crate::{DirectionResult, IoStatistics};
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// Figures of one device, all jobs on it together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceCounts {
    /// The device, as it was named.
    pub device: String,
    /// Reads.
    pub read: DirectionResult,
    /// Writes.
    pub write: DirectionResult,
    /// Reads, writes and trims together.
    pub all: DirectionResult,
}

impl DeviceCounts {
    /// Returns the figures of `device`, whose reads, writes and other I/Os were counted in `window`.
    pub fn new(
        device: String,
        read: &IoStatistics,
        write: &IoStatistics,
        others: Option<&IoStatistics>,
        window: Nanos,
    ) -> DeviceCounts {
        let mut all = read.clone();
        all.add(write);
        others.into_iter().for_each(|others| all.add(others));
        DeviceCounts {
            device,
            read: DirectionResult::new(read, window),
            write: DirectionResult::new(write, window),
            all: DirectionResult::new(&all, window),
        }
    }
}
