//! The rate of a run over its measured part, from samples of the I/Os that its jobs have done.

use crate::process::REPORT_INTERVAL;
use joulio_job::{Job, JobKind, Steadiness};
use joulio_units::Nanos;

/// Largest number of intervals that a run is divided into: with more, each has too few I/Os to be judged.
const MAX_INTERVALS: usize = 10;

/// Shortest interval over which the rate of jobs in processes is judged. What a sample counts of them may be a report
/// old, which is then at most a twentieth of the interval.
const MIN_INTERVAL_OF_PROCESSES: Nanos = Nanos(20 * REPORT_INTERVAL.0);

/// Samples of the measured part: a time, and the I/Os done by then, of all jobs together.
#[derive(Debug)]
pub(super) struct Rates {
    samples: Vec<(Nanos, u64)>,
    /// Shortest interval that is judged.
    min_interval: Nanos,
}

impl Rates {
    /// Returns the rates of `jobs`, which have no samples yet.
    pub(super) fn of<'a>(mut jobs: impl Iterator<Item = &'a Job>) -> Rates {
        let processes = jobs.any(|job| job.kind == JobKind::Process);
        Rates {
            samples: Vec::new(),
            min_interval: match processes {
                true => MIN_INTERVAL_OF_PROCESSES,
                false => Nanos::ZERO,
            },
        }
    }

    /// Adds a sample.
    pub(super) fn add(&mut self, at: Nanos, ios: u64) {
        self.samples.push((at, ios));
    }

    /// Returns the steadiness of the rate; `None`: the samples are too few, or over too short a time, to tell.
    pub(super) fn steadiness(&self) -> Option<Steadiness> {
        let steps = self.samples.len().checked_sub(1)?;
        let time = self.samples[steps].0.since(self.samples[0].0);
        // Without a shortest interval the time allows any number of them.
        let allowed = time.0.checked_div(self.min_interval.0);
        let allowed = allowed.map_or(MAX_INTERVALS, |most| most as usize);
        let intervals = steps.min(MAX_INTERVALS).min(allowed);
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

    /// Returns the rates of a job of `kind`, which has no samples yet.
    fn of(kind: JobKind) -> Rates {
        let job = Job {
            kind,
            ..Job::random_reads(1)
        };
        Rates::of([&job].into_iter())
    }

    #[test]
    fn rates_are_of_at_most_ten_equal_intervals() {
        let mut rates = of(JobKind::Thread);
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
        let mut rates = of(JobKind::Thread);
        for moment in 0..5 {
            assert_eq!(rates.steadiness(), None);
            rates.add(Nanos::from_millis(100 * moment), 500 * moment);
        }
        rates.add(Nanos::from_millis(500), 2_500);
        assert!(rates.steadiness().is_some());
    }

    #[test]
    fn late_reports_of_processes_do_not_make_them_unsteady() {
        let mut rates = of(JobKind::Process);
        let mut judged = 0;
        for sample in 0..=300 {
            // Every seventh sample comes before the report that it should have.
            let reported = sample - u64::from(sample % 7 == 6);
            rates.add(Nanos::from_millis(100 * sample), 500 * reported);
            let Some(steadiness) = rates.steadiness() else {
                continue;
            };
            judged += 1;
            assert!(sample >= 100, "five intervals last 10 s");
            assert!(steadiness.spread_percent < 11.0, "{steadiness:?}");
        }
        assert_eq!(judged, 201);
    }
}
