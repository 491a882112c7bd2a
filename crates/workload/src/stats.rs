//! Latencies and counts of one direction.

use hdrhistogram::Histogram;
use joulio_units::Nanos;

/// A minute: what is longer counts as that.
const LONGEST: u64 = 60_000_000_000;

/// Counts and a latency histogram of three significant digits.
#[derive(Clone)]
pub(crate) struct Tally {
    pub(crate) ios: u64,
    pub(crate) errors: u64,
    pub(crate) bytes: u64,
    pub(crate) latency: Histogram<u64>,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally {
            ios: 0,
            errors: 0,
            bytes: 0,
            latency: Histogram::new_with_bounds(1, LONGEST, 3).expect("bounds are constants"),
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
