//! The figures of one job of several.

use crate::{IoStatistics, LatencySummary};
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// Figures of one job, all of its devices together: what a tenant had.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobCounts {
    /// Bytes of its longest I/O.
    pub bs: u64,
    /// I/Os that succeeded.
    pub ios: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Mean latency in nanoseconds.
    pub mean_ns: f64,
    /// 99th percentile of the latencies in nanoseconds.
    pub p99_ns: u64,
}

impl JobCounts {
    /// Returns the figures of a job with I/Os of `bs` bytes, which were counted in `window`.
    pub fn new(bs: u64, all: &IoStatistics, window: Nanos) -> JobCounts {
        let latency = LatencySummary::new(all);
        let seconds = window.seconds();
        JobCounts {
            bs,
            ios: all.ios,
            iops: if seconds > 0.0 {
                all.ios as f64 / seconds
            } else {
                0.0
            },
            mean_ns: latency.mean,
            p99_ns: latency.p99,
        }
    }

    /// Returns Jain's index of fairness of the jobs' rates, from 1 / n to 1: (sum x)^2 / (n x sum x^2) (Jain, Chiu
    /// and Hawe, DEC-TR-301, 1984). `None` for fewer than two jobs, or if no I/O was done.
    pub fn jain(jobs: &[JobCounts]) -> Option<f64> {
        let sum: f64 = jobs.iter().map(|job| job.iops).sum();
        let squares: f64 = jobs.iter().map(|job| job.iops * job.iops).sum();
        (jobs.len() > 1 && squares > 0.0).then(|| sum * sum / (jobs.len() as f64 * squares))
    }

    /// Returns the jobs with the shortest I/Os, which a job with longer I/Os may slow down.
    pub fn lightest(jobs: &[JobCounts]) -> impl Iterator<Item = &JobCounts> {
        let least = jobs.iter().map(|job| job.bs).min();
        jobs.iter().filter(move |job| Some(job.bs) == least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(iops: &[f64]) -> Vec<JobCounts> {
        let job = |iops: &f64| JobCounts {
            iops: *iops,
            ..JobCounts::default()
        };
        iops.iter().map(job).collect()
    }

    #[test]
    fn jains_index_is_one_of_equals_and_one_nth_of_a_monopoly() {
        let jain = |iops: &[f64]| JobCounts::jain(&jobs(iops));
        assert_eq!(jain(&[5.0, 5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        let mixed = jain(&[1.0, 2.0, 3.0]).unwrap();
        assert!((mixed - 36.0 / 42.0).abs() < 1e-12);
        assert_eq!((jain(&[5.0]), jain(&[0.0, 0.0])), (None, None));
    }

    #[test]
    fn the_lightest_are_those_of_the_shortest_ios() {
        let mut all = jobs(&[1.0, 2.0, 3.0]);
        for (job, bs) in all.iter_mut().zip([4096, 131_072, 4096]) {
            job.bs = bs;
        }
        let light: Vec<f64> = JobCounts::lightest(&all).map(|job| job.iops).collect();
        assert_eq!(light, [1.0, 3.0]);
    }
}
