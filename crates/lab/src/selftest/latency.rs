//! Latencies from the end of a wait to the core's next instruction.

use joulio_cpu::Tsc;
use serde::Serialize;

/// Summary of latencies of one kind.
#[derive(Serialize)]
pub struct Latency {
    /// Description of the interval that was timed: its start and its end.
    pub what: String,
    /// Number of latencies.
    pub samples: usize,
    /// Median in nanoseconds; null if there are no latencies.
    pub p50_ns: Option<f64>,
    /// 99th percentile in nanoseconds.
    pub p99_ns: Option<f64>,
}

impl Latency {
    /// Summarises the latencies of `what`, given in TSC cycles.
    pub fn of(what: impl Into<String>, mut cycles: Vec<u64>) -> Latency {
        cycles.sort_unstable();
        let nanoseconds = 1e9 / Tsc::get().hertz();
        let at = |part| quantile(&cycles, part).map(|cycles| cycles as f64 * nanoseconds);
        Latency {
            what: what.into(),
            samples: cycles.len(),
            p50_ns: at(0.50),
            p99_ns: at(0.99),
        }
    }
}

/// Returns the smallest of the sorted `values` that at least the fraction `part` of them do not exceed.
pub(super) fn quantile(values: &[u64], part: f64) -> Option<u64> {
    let rank = (values.len() as f64 * part).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let values: Vec<_> = (1..=200).collect();
        assert_eq!(quantile(&values, 0.50), Some(100));
        assert_eq!(quantile(&values, 0.99), Some(198));
        assert_eq!(quantile(&[7], 0.99), Some(7));
        assert_eq!(quantile(&[], 0.5), None);
        let none = Latency::of("nothing", Vec::new());
        assert_eq!((none.samples, none.p99_ns), (0, None));
    }
}
