//! Points that a profile needs; the deeper ones depend on the rates that the shallower ones have.

use super::error::DeviceMeasureError;
use super::point::{PointRuns, RatePoint, RateSource};
use joulio_units::Direction;

/// Depths that are tried in turn until a deeper one is no faster.
const DEPTHS: [usize; 4] = [4, 16, 64, 256];

/// Factor by which a point has to be faster than the one before for a still deeper one to be tried.
const GAIN: f64 = 1.05;

/// Largest number of bytes in flight per job: more do not make any link faster.
const MAX_IN_FLIGHT: u64 = 64 << 20;

/// Plan of a device's measurement, from what is known before the first run.
#[derive(Clone, Debug)]
pub struct RatePlan {
    /// Directions to measure: reads, or reads and then writes.
    pub directions: Vec<Direction>,
    /// I/O sizes in bytes, in rising order, at least one: saturation is measured with the first, the link with the
    /// last.
    pub sizes: Vec<u32>,
    /// Largest number of I/Os in flight per job; 1 for an engine whose depth comes from jobs alone.
    pub max_iodepth: usize,
    /// Largest number of jobs.
    pub max_jobs: usize,
    /// Number of runs of each point.
    pub loops: u32,
    /// True if the measurement ends as soon as most runs of a point are spoiled.
    pub strict: bool,
}

/// Runs each point of `plan` several times on `source`. All points of one direction are run in turn, so that a
/// disturbance of the machine spoils one run of each point and not all runs of one. `begun` is called before each run.
///
/// # Errors
/// A run failed, or (with `strict`) most runs of a point were spoiled.
pub fn measure_rates(
    plan: &RatePlan,
    source: &mut dyn RateSource,
    begun: &mut dyn FnMut(RatePoint),
) -> Result<Vec<PointRuns>, DeviceMeasureError> {
    let mut all = Vec::new();
    for &direction in &plan.directions {
        let points = Vec::new();
        let mut rates = Rates {
            plan,
            source,
            begun,
            points,
        };
        rates.first_round(direction)?;
        for _ in 1..plan.loops {
            for index in 0..rates.points.len() {
                rates.run(rates.points[index].point)?;
            }
        }
        all.append(&mut rates.points);
    }
    Ok(all)
}

/// Points of one direction with their runs so far.
struct Rates<'a> {
    plan: &'a RatePlan,
    source: &'a mut dyn RateSource,
    begun: &'a mut dyn FnMut(RatePoint),
    points: Vec<PointRuns>,
}

impl Rates<'_> {
    /// Determines the points, and runs each for the first time.
    fn first_round(&mut self, direction: Direction) -> Result<(), DeviceMeasureError> {
        let plan = self.plan;
        let alone = |bytes| RatePoint {
            direction,
            bytes,
            iodepth: 1,
            numjobs: 1,
        };
        for &bytes in &plan.sizes {
            self.run(alone(bytes))?;
        }
        if let Some(&bytes) = plan.sizes.first() {
            let (deepest, rate) = self.climb(alone(bytes), deeper(plan))?;
            // Only an engine with depth is tried with more jobs: without depth, the climb above has added jobs already.
            if plan.max_iodepth > 1 {
                let jobs = (1..).map(|power| 1 << power);
                let jobs = jobs.take_while(|&jobs| jobs <= plan.max_jobs);
                let more = jobs.map(|numjobs| RatePoint { numjobs, ..deepest });
                self.climb_from(rate, deepest, more)?;
            }
        }
        if let [_, .., bytes] = plan.sizes[..] {
            self.climb(alone(bytes), deeper(plan))?;
        }
        Ok(())
    }

    /// Runs `alone` at the depths that `depth` makes of it, until a deeper one is no faster; returns the last point and
    /// the best rate.
    fn climb(
        &mut self,
        alone: RatePoint,
        depth: impl Fn(RatePoint, usize) -> Option<RatePoint>,
    ) -> Result<(RatePoint, f64), DeviceMeasureError> {
        let found = self.points.iter().find(|runs| runs.point == alone);
        let rate = found.map_or(0.0, PointRuns::median);
        let rungs: Vec<_> = DEPTHS.iter().filter_map(|&n| depth(alone, n)).collect();
        self.climb_from(rate, alone, rungs)
    }

    fn climb_from(
        &mut self,
        rate: f64,
        from: RatePoint,
        rungs: impl IntoIterator<Item = RatePoint>,
    ) -> Result<(RatePoint, f64), DeviceMeasureError> {
        let (mut last, mut best) = (from, rate);
        for point in rungs {
            last = point;
            let enough = best * GAIN;
            let mut rate = self.run(point)?;
            if rate < enough {
                // A single disturbed run must not end the search.
                rate = f64::max(rate, self.run(point)?);
            }
            best = f64::max(best, rate);
            if rate < enough {
                break;
            }
        }
        Ok((last, best))
    }

    /// Runs `point` once more and returns the run's rate.
    fn run(&mut self, point: RatePoint) -> Result<f64, DeviceMeasureError> {
        (self.begun)(point);
        let run = self.source.run(point)?;
        let rate = run.iops;
        let index = self.points.iter().position(|runs| runs.point == point);
        let runs = match index {
            Some(index) => &mut self.points[index],
            None => {
                let runs = Vec::new();
                self.points.push(PointRuns { point, runs });
                let last = self.points.len() - 1;
                &mut self.points[last]
            }
        };
        runs.runs.push(run);
        let all = runs.runs.len().max(self.plan.loops as usize);
        let spoiled = runs.runs.iter().find_map(|run| run.spoiled.as_ref());
        match spoiled.filter(|_| self.plan.strict && 2 * runs.spoiled_runs() > all) {
            Some(spoiled) => Err(DeviceMeasureError::Spoiled(spoiled.clone())),
            None => Ok(rate),
        }
    }
}

/// Returns a function that makes a point several times as deep: with more I/Os in flight, or with more jobs for an
/// engine without depth; `None` if the plan does not allow it.
fn deeper(plan: &RatePlan) -> impl Fn(RatePoint, usize) -> Option<RatePoint> {
    let (max_iodepth, max_jobs) = (plan.max_iodepth, plan.max_jobs);
    move |alone, depth| {
        let fits = u64::from(alone.bytes) * depth as u64 <= MAX_IN_FLIGHT;
        match max_iodepth > 1 {
            true if fits && depth <= max_iodepth => Some(RatePoint {
                iodepth: depth,
                ..alone
            }),
            false if depth <= max_jobs => Some(RatePoint {
                numjobs: depth,
                ..alone
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_measure::RateRun;
    use joulio_workload::{Spoiled, SpoiledBy};

    /// A simulated device that serves `servers` 4 KiB I/Os at a time, at most 16 of one job. Every `disturbed`th run is
    /// half as fast and is reported as spoiled.
    struct Servers {
        servers: f64,
        disturbed: usize,
        requested: Vec<RatePoint>,
    }

    impl RateSource for Servers {
        fn run(&mut self, point: RatePoint) -> Result<RateRun, DeviceMeasureError> {
            self.requested.push(point);
            let by_one = (point.iodepth as f64).min(16.0);
            let at_once = f64::min(by_one * point.numjobs as f64, self.servers);
            let disturbed = self.requested.len().is_multiple_of(self.disturbed);
            let slower = if disturbed { 0.5 } else { 1.0 };
            Ok(RateRun {
                iops: at_once * 10_000.0 * 4096.0 / f64::from(point.bytes) * slower,
                spoiled: disturbed.then(|| Spoiled {
                    by: SpoiledBy::Preempted,
                    share: None,
                    why: "others ran".into(),
                }),
            })
        }
    }

    fn plan() -> RatePlan {
        RatePlan {
            directions: vec![Direction::Read],
            sizes: vec![4096, 131_072],
            max_iodepth: 256,
            max_jobs: 8,
            loops: 5,
            strict: true,
        }
    }

    fn measured(
        plan: &RatePlan,
        servers: f64,
        disturbed: usize,
    ) -> Result<(Vec<PointRuns>, Vec<RatePoint>), DeviceMeasureError> {
        let requested = Vec::new();
        let mut source = Servers {
            servers,
            disturbed,
            requested,
        };
        let points = measure_rates(plan, &mut source, &mut |_| {})?;
        Ok((points, source.requested))
    }

    /// Returns the bytes, depth and jobs of each point.
    fn places(points: &[PointRuns]) -> Vec<(u32, usize, usize)> {
        let points = points.iter().map(|runs| runs.point);
        points.map(|p| (p.bytes, p.iodepth, p.numjobs)).collect()
    }

    #[test]
    fn it_goes_as_deep_as_that_brings_something_and_then_by_jobs() {
        let (points, _) = measured(&plan(), 24.0, 0).unwrap();
        let small = [(4096, 4, 1), (4096, 16, 1), (4096, 64, 1), (4096, 64, 2)];
        let jobs = [(4096, 64, 4)];
        let large = [(131_072, 4, 1), (131_072, 16, 1), (131_072, 64, 1)];
        let alone = [(4096, 1, 1), (131_072, 1, 1)];
        let want = [&alone[..], &small, &jobs, &large].concat();
        assert_eq!(places(&points), want);
        // If one job saturates the device, one more point with two jobs is run, which is no faster.
        let (points, _) = measured(&plan(), 1.0, 0).unwrap();
        let want = [(4096, 4, 1), (4096, 4, 2), (131_072, 4, 1)];
        assert_eq!(places(&points), [&alone[..], &want].concat());
        let one = RatePlan {
            max_jobs: 1,
            sizes: vec![4096],
            max_iodepth: 20,
            ..plan()
        };
        let (points, _) = measured(&one, 24.0, 0).unwrap();
        assert_eq!(places(&points), [(4096, 1, 1), (4096, 4, 1), (4096, 16, 1)]);
    }

    #[test]
    fn an_engine_without_depth_has_jobs_for_it() {
        let psync = RatePlan {
            max_iodepth: 1,
            max_jobs: 64,
            ..plan()
        };
        let (points, _) = measured(&psync, 24.0, 0).unwrap();
        let small = [(4096, 1, 4), (4096, 1, 16), (4096, 1, 64)];
        assert_eq!(places(&points)[2..5], small);
        assert!(points.iter().all(|runs| runs.point.iodepth == 1));
    }

    #[test]
    fn points_are_run_in_turn_and_all_of_reads_before_any_write() {
        let both = RatePlan {
            directions: vec![Direction::Read, Direction::Write],
            ..plan()
        };
        let (points, requested) = measured(&both, 24.0, 0).unwrap();
        assert!(points.iter().all(|runs| runs.runs.len() >= 5));
        let first_write = requested
            .iter()
            .position(|p| p.direction == Direction::Write);
        let (reads, writes) = requested.split_at(first_write.unwrap());
        assert!(writes.iter().all(|p| p.direction == Direction::Write));
        // Each of the last four rounds has every point once.
        let round = points.len() / 2;
        let rounds = &reads[reads.len() - 4 * round..];
        for turn in rounds.chunks(round) {
            let want: Vec<_> = points[..round].iter().map(|runs| runs.point).collect();
            assert_eq!(turn, want);
        }
    }

    #[test]
    fn a_disturbed_run_moves_no_rate_and_many_end_it() {
        let quiet = measured(&plan(), 24.0, 0).unwrap().0;
        let disturbed = measured(&plan(), 24.0, 7).unwrap().0;
        assert_eq!(places(&quiet), places(&disturbed));
        for (quiet, disturbed) in quiet.iter().zip(&disturbed) {
            assert_eq!(quiet.median(), disturbed.median());
        }
        let refused = measured(&plan(), 24.0, 1).unwrap_err();
        assert!(
            matches!(refused, DeviceMeasureError::Spoiled(_)),
            "{refused}"
        );
        let any = RatePlan {
            strict: false,
            ..plan()
        };
        let (points, _) = measured(&any, 24.0, 1).unwrap();
        assert!(points.iter().all(|runs| runs.spoiled().is_some()));
    }
}
