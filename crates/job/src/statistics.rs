//! Latencies and counts of one direction.

use hdrhistogram::Histogram;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// Longest latency that is recorded, in nanoseconds: a minute. Longer ones are recorded as a minute.
const MAX_LATENCY: u64 = 60_000_000_000;

/// Returns a histogram of latencies with three significant digits.
fn latencies() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_LATENCY, 3).expect("bounds are constants")
}

/// Counts and latencies of I/Os.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoStatistics {
    /// I/Os that succeeded.
    pub ios: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Bytes of the I/Os that succeeded.
    pub bytes: u64,
    /// Latencies in nanoseconds, to three significant digits.
    #[serde(with = "recorded")]
    pub latency: Histogram<u64>,
    /// Sum of the latencies, exactly.
    pub total_latency: Nanos,
}

impl IoStatistics {
    /// Returns the statistics of no I/O.
    pub fn new() -> IoStatistics {
        IoStatistics {
            ios: 0,
            errors: 0,
            bytes: 0,
            latency: latencies(),
            total_latency: Nanos::ZERO,
        }
    }

    /// Counts an I/O of `bytes` that succeeded after `latency`.
    #[inline]
    pub fn success(&mut self, latency: Nanos, bytes: u64) {
        self.ios += 1;
        self.bytes += bytes;
        self.total_latency += latency;
        self.latency.saturating_record(latency.0);
    }

    /// Adds the I/Os of `other`.
    pub fn add(&mut self, other: &IoStatistics) {
        self.ios += other.ios;
        self.errors += other.errors;
        self.bytes += other.bytes;
        self.total_latency += other.total_latency;
        self.latency.add(&other.latency).expect("equal bounds");
    }

    /// Discards all I/Os.
    pub fn clear(&mut self) {
        self.ios = 0;
        self.errors = 0;
        self.bytes = 0;
        self.total_latency = Nanos::ZERO;
        self.latency.reset();
    }

    /// Returns the mean latency in nanoseconds; `None` if no I/O succeeded.
    pub fn mean(&self) -> Option<f64> {
        (self.ios > 0).then(|| self.total_latency.0 as f64 / self.ios as f64)
    }
}

impl Default for IoStatistics {
    fn default() -> IoStatistics {
        IoStatistics::new()
    }
}

/// Histograms in serialized form: recorded values, and their counts.
mod recorded {
    use super::latencies;
    use hdrhistogram::Histogram;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        histogram: &Histogram<u64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let recorded = histogram.iter_recorded();
        to.collect_seq(recorded.map(|value| (value.value_iterated_to(), value.count_at_value())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Histogram<u64>, D::Error> {
        let mut histogram = latencies();
        for (value, count) in Vec::<(u64, u64)>::deserialize(from)? {
            histogram.record_n(value, count).map_err(D::Error::custom)?;
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn statistics_are_the_same_after_json(
            latencies in prop::collection::vec(0_u64..100_000_000_000, 0..50),
        ) {
            let mut statistics = IoStatistics::new();
            for latency in latencies {
                statistics.success(Nanos(latency), 4096);
            }
            let text = serde_json::to_string(&statistics).expect("statistics");
            let read: IoStatistics = serde_json::from_str(&text).expect("statistics");
            prop_assert_eq!(read, statistics);
        }
    }

    #[test]
    fn a_latency_that_no_job_records_is_an_error() {
        let text =
            r#"{"ios":1,"errors":0,"bytes":0,"latency":[[99000000000000,1]],"total_latency":1}"#;
        let error = serde_json::from_str::<IoStatistics>(text).unwrap_err();
        assert!(!error.to_string().contains("missing field"), "{error}");
    }
}
