//! Loads that alternate over time.

use crate::Arrivals;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// Direction, size and arrivals of I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Percentage of reads, 0 to 100; the rest are writes.
    pub read_percent: u8,
    /// Bytes of an I/O.
    pub bs: u32,
    /// Arrivals of the I/Os.
    pub arrivals: Arrivals,
}

/// A load that applies for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Nanoseconds for which the load applies.
    pub length: Nanos,
    /// The load.
    pub load: Load,
}
