//! The rate of a run over its measured part, from samples of the I/Os that its jobs have done.

use joulio_job::Steadiness;
use joulio_units::Nanos;

/// Largest number of intervals that a run is divided into: with more, each has too few I/Os to be judged.
const MAX_INTERVALS: usize = 10;

/// Samples of the measured part: a time, and the I/Os done by then, of all jobs together.
#[derive(Debug, Default)]
pub(super) struct Rates {
    samples: Vec<(Nanos, u64)>,
}

impl Rates {
    /// Adds a sample.
    pub(super) fn add(&mut self, at: Nanos, ios: u64) {
        self.samples.push((at, ios));
    }

    /// Returns the steadiness of the rate; `None`: there are too few samples to tell.
    pub(super) fn steadiness(&self) -> Option<Steadiness> {
        let steps = self.samples.len().checked_sub(1)?;
        let intervals = steps.min(MAX_INTERVALS);
        let place = |n: usize| n * steps / intervals.max(1);
        let rates = (0..intervals).map(|n| {
            let (from, before) = self.samples[place(n)];
            let (to, after) = self.samples[place(n + 1)];
            after.saturating_sub(before) as f64 / to.since(from).seconds()
        });
        let rates: Vec<f64> = rates.filter(|rate| rate.is_finite()).collect();
        Steadiness::of(&rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_at_most_ten_equal_intervals() {
        let mut rates = Rates::default();
        for moment in 0..=40 {
            rates.add(Nanos::from_millis(100 * moment), 500 * moment);
        }
        let steady = rates.steadiness().unwrap();
        assert_eq!(steady.intervals, 10);
        assert!(steady.spread_percent < 1e-9);
        rates.add(Nanos::from_millis(4_100), 500 * 40);
        assert!(rates.steadiness().unwrap().spread_percent > 20.0);
    }

    #[test]
    fn too_few_moments_tell_nothing() {
        let mut rates = Rates::default();
        for moment in 0..5 {
            assert_eq!(rates.steadiness(), None);
            rates.add(Nanos::from_millis(100 * moment), 500 * moment);
        }
        rates.add(Nanos::from_millis(500), 2_500);
        assert!(rates.steadiness().is_some());
    }
}
