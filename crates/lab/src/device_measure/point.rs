//! Points of a measurement and their runs.

use super::error::DeviceMeasureError;
use joulio_units::Direction;
use joulio_workload::Spoiled;

/// Random I/O of one size at one depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatePoint {
    /// Direction: reads or writes.
    pub direction: Direction,
    /// Bytes of an I/O.
    pub bytes: u32,
    /// I/Os in flight per job.
    pub iodepth: usize,
    /// Number of jobs.
    pub numjobs: usize,
}

/// Result of one run of a point.
#[derive(Clone, Debug)]
pub struct RateRun {
    /// I/Os per second of all jobs.
    pub iops: f64,
    /// Reason why the rate does not show the device itself, if there is one.
    pub spoiled: Option<Spoiled>,
}

/// Source of rates: a device, or the twin in its place.
pub trait RateSource {
    /// Runs `point` once.
    ///
    /// # Errors
    /// The run failed or was stopped early.
    fn run(&mut self, point: RatePoint) -> Result<RateRun, DeviceMeasureError>;
}

/// A point with all of its runs, of which there is at least one.
#[derive(Clone, Debug)]
pub struct PointRuns {
    /// The point.
    pub point: RatePoint,
    /// Runs of the point, in their order.
    pub runs: Vec<RateRun>,
}

impl PointRuns {
    /// Returns the median of the rates that count.
    pub fn median(&self) -> f64 {
        let rates = self.sorted();
        let middle = rates.len() / 2;
        match (rates.get(middle), rates.len() % 2) {
            (Some(upper), 0) => (upper + rates[middle - 1]) / 2.0,
            (Some(rate), _) => *rate,
            (None, _) => 0.0,
        }
    }

    /// Returns the lowest and the highest of the rates that count.
    pub fn range(&self) -> [f64; 2] {
        let rates = self.sorted();
        let at = |rate: Option<&f64>| rate.copied().unwrap_or_default();
        [at(rates.first()), at(rates.last())]
    }

    /// Returns the reason why the median does not show the device itself: most of the runs were spoiled.
    pub fn spoiled(&self) -> Option<&Spoiled> {
        let first = self.runs.iter().find_map(|run| run.spoiled.as_ref());
        first.filter(|_| 2 * self.spoiled_runs() > self.runs.len())
    }

    /// Returns the number of spoiled runs.
    pub(super) fn spoiled_runs(&self) -> usize {
        let runs = self.runs.iter();
        runs.filter(|run| run.spoiled.is_some()).count()
    }

    /// Returns the rates that count, in rising order: those of runs that were not spoiled, or all if most were.
    fn sorted(&self) -> Vec<f64> {
        let all = self.spoiled().is_some();
        let runs = self.runs.iter();
        let counting = runs.filter(|run| all || run.spoiled.is_none());
        let mut rates: Vec<f64> = counting.map(|run| run.iops).collect();
        rates.sort_by(f64::total_cmp);
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_workload::SpoiledBy;

    fn runs(rates: &[(f64, bool)]) -> PointRuns {
        let run = |&(iops, spoiled): &(f64, bool)| RateRun {
            iops,
            spoiled: spoiled.then(|| Spoiled {
                by: SpoiledBy::Preempted,
                share: None,
                why: "others ran".into(),
            }),
        };
        PointRuns {
            point: RatePoint {
                direction: Direction::Read,
                bytes: 4096,
                iodepth: 1,
                numjobs: 1,
            },
            runs: rates.iter().map(run).collect(),
        }
    }

    #[test]
    fn spoiled_runs_count_only_where_they_are_the_most() {
        let few = runs(&[
            (9.0, false),
            (1.0, true),
            (7.0, false),
            (8.0, false),
            (2.0, true),
        ]);
        assert_eq!((few.median(), few.range()), (8.0, [7.0, 9.0]));
        assert!(few.spoiled().is_none());
        let most = runs(&[(9.0, false), (1.0, true), (3.0, true)]);
        assert_eq!((most.median(), most.range()), (3.0, [1.0, 9.0]));
        assert_eq!(most.spoiled().unwrap().why, "others ran");
        let half = runs(&[(9.0, false), (1.0, true), (3.0, true), (5.0, false)]);
        assert_eq!((half.median(), half.spoiled().is_none()), (7.0, true));
    }
}
