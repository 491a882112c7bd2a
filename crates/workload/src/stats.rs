//! Latencies and counts of one direction.

use crate::process::wire;
use hdrhistogram::Histogram;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// A minute: what is longer counts as that.
const LONGEST: u64 = 60_000_000_000;

/// A histogram of latencies with three significant digits.
pub(crate) fn latencies() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, 3).expect("bounds are constants")
}

/// Counts and latencies.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) ios: u64,
    pub(crate) errors: u64,
    pub(crate) bytes: u64,
    #[serde(with = "wire::latencies")]
    pub(crate) latency: Histogram<u64>,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally {
            ios: 0,
            errors: 0,
            bytes: 0,
            latency: latencies(),
        }
    }

    #[inline]
    pub(crate) fn success(&mut self, latency: Nanos, bytes: u64) {
        self.ios += 1;
        self.bytes += bytes;
        self.latency.saturating_record(latency.0);
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.ios += other.ios;
        self.errors += other.errors;
        self.bytes += other.bytes;
        self.latency.add(&other.latency).expect("equal bounds");
    }

    pub(crate) fn clear(&mut self) {
        self.ios = 0;
        self.errors = 0;
        self.bytes = 0;
        self.latency.reset();
    }
}
