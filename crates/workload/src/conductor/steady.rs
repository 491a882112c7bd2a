//! The rolling window over the rates of a run that ends when they are steady.

use joulio_job::{SteadyRate, SteadyState, SteadyStateResult};
use joulio_units::Nanos;
use std::collections::VecDeque;

/// Rates of a run that ends when they are steady.
#[derive(Debug)]
pub(super) struct SteadyWatch {
    requested: SteadyState,
    /// Beginning of the measured part.
    start: Nanos,
    /// Time and amount from which the next rate is counted.
    last: Option<(Nanos, u64)>,
    rates: VecDeque<f64>,
    criterion: Option<f64>,
    attained: Option<Nanos>,
}

impl SteadyWatch {
    /// Returns the watch of a run whose measured part begins at `start`.
    pub(super) fn new(requested: SteadyState, start: Nanos) -> SteadyWatch {
        SteadyWatch {
            requested,
            start,
            last: None,
            rates: VecDeque::with_capacity(requested.rates()),
            criterion: None,
            attained: None,
        }
    }

    /// Adds a sample of the `ios` and `bytes` done by `at`; returns true once the steady state is attained.
    pub(super) fn add(&mut self, at: Nanos, (ios, bytes): (u64, u64)) -> bool {
        if self.attained.is_some() || at < self.start + self.requested.ramp_time {
            return self.attained.is_some();
        }
        let amount = match self.requested.criterion.rate {
            SteadyRate::Iops => ios,
            SteadyRate::Bw => bytes,
        };
        let Some((from, before)) = self.last else {
            self.last = Some((at, amount));
            return false;
        };
        if at.since(from) < self.requested.check_interval {
            return false;
        }
        self.last = Some((at, amount));
        if self.rates.len() == self.requested.rates() {
            self.rates.pop_front();
        }
        let rate = amount.saturating_sub(before) as f64 / at.since(from).seconds();
        self.rates.push_back(rate);
        if self.rates.len() < self.requested.rates() {
            return false;
        }
        let criterion = self.requested.criterion;
        self.criterion = criterion.value(self.rates.make_contiguous());
        let steady = self.criterion.is_some_and(|value| value < criterion.limit);
        self.attained = steady.then_some(at);
        steady
    }

    /// Returns whether, and when, the steady state was attained.
    pub(super) fn result(&self) -> SteadyStateResult {
        SteadyStateResult {
            ss: self.requested.criterion.to_string(),
            duration_seconds: self.requested.duration.seconds(),
            attained: self.attained.is_some(),
            criterion: self.criterion,
            seconds: self.attained.map(|at| at.since(self.start).seconds()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(criterion: &str) -> SteadyWatch {
        let requested = SteadyState {
            criterion: criterion.parse().unwrap(),
            duration: Nanos::from_millis(4_000),
            ramp_time: Nanos::from_millis(2_000),
            check_interval: Nanos::from_millis(1_000),
        };
        SteadyWatch::new(requested, Nanos::from_millis(10_000))
    }

    /// Returns the second of the measured part in which the steady state is attained, for these `rates` per second
    /// from its beginning.
    fn attained(watch: &mut SteadyWatch, rates: impl Iterator<Item = u64>) -> Option<u64> {
        let mut sum = 0;
        for (second, rate) in (1..).zip(rates) {
            sum += rate;
            // Less than an interval has passed: the sample is not used.
            watch.add(
                Nanos::from_millis(10_000 + 1_000 * second - 500),
                (sum - rate / 2, 0),
            );
            if watch.add(Nanos::from_millis(10_000 + 1_000 * second), (sum, 0)) {
                return Some(second);
            }
        }
        None
    }

    #[test]
    fn a_rate_that_settles_is_steady_when_the_window_holds_nothing_else() {
        let mut one = watch("iops:5%");
        let settling = [900, 800, 700, 600, 500, 100, 100, 100, 100, 100, 100, 100];
        let at = attained(&mut one, settling.into_iter());
        assert!(at.is_some_and(|at| (9..=11).contains(&at)), "{at:?}");
        let result = one.result();
        assert!(
            result.attained && result.criterion < Some(5.0),
            "{result:?}"
        );
        assert!(result.seconds <= at.map(|at| at as f64), "{result:?}");
        assert!(
            one.add(Nanos::from_millis(99_000), (0, 0)),
            "once and for all"
        );
    }

    #[test]
    fn a_rate_that_falls_or_swings_is_not_steady() {
        let mut swings = watch("iops:5%");
        assert_eq!(
            attained(&mut swings, [100, 200].into_iter().cycle().take(60)),
            None
        );
        assert!(!swings.result().attained && swings.result().criterion > Some(20.0));
        let mut falls = watch("iops_slope:1%");
        assert_eq!(
            attained(&mut falls, (0..60).map(|at| 10_000 - 150 * at)),
            None
        );
        let mut nothing = watch("bw:5%");
        assert_eq!(attained(&mut nothing, [100; 60].into_iter()), None);
        assert_eq!(nothing.result().criterion, None);
    }

    #[test]
    fn a_run_shorter_than_the_window_has_no_value() {
        let mut short = watch("iops:5%");
        assert_eq!(attained(&mut short, [100; 5].into_iter()), None);
        let result = short.result();
        assert_eq!(
            (result.attained, result.criterion, result.seconds),
            (false, None, None)
        );
    }
}
