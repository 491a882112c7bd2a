//! The plan for the I/Os of a class, in times.

use super::costing::Cost;
use super::plan::Plan;
use super::points::POINTS;
use crate::{ExpectedCost, PlannedWait, StepKind};
use joulio_units::{Joules, Nanos};

/// Plan for the I/Os of a class, in nanoseconds after the submission.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassPlan {
    pub(super) plan: Plan,
    pub(super) rest: StepKind,
    pub(super) rest_until: u64,
    /// End of the loose watch, if the I/O did not wait before.
    pub(super) loose_until: u64,
    pub(super) watch_until: u64,
    /// Number of I/Os in a row that have completed when the core wakes from which on that is a surprise.
    pub(super) many: u8,
    /// Shortest recent time of an I/O, and the median.
    pub(super) shortest: u64,
    pub(super) median: f64,
    /// Median when it was last known without the time of a wake-up; 0: never.
    pub(super) known: f64,
    /// Nanoseconds between the first and the third quartile.
    pub(super) spread: f64,
    /// Expected cost of an I/O, if it is known.
    pub(super) cost: Option<Cost>,
}

impl ClassPlan {
    /// Returns the plan of a class without a history, whose I/Os are watched for `watch` nanoseconds.
    pub(super) const fn unknown(watch: u64) -> ClassPlan {
        ClassPlan {
            plan: Plan::unknown(false),
            rest: StepKind::Sleep,
            rest_until: 0,
            loose_until: 0,
            watch_until: watch,
            many: u8::MAX,
            shortest: 0,
            median: 0.0,
            known: 0.0,
            spread: 0.0,
            cost: None,
        }
    }

    /// The plan as others see it.
    pub(super) fn planned(&self) -> PlannedWait {
        let loose = self.plan.loose;
        let loose = loose.map(|kind| (kind, Nanos(self.loose_until)));
        let blocks = self.plan.watch == StepKind::Block;
        PlannedWait {
            rest: (self.rest_until > 0).then_some((self.rest, Nanos(self.rest_until))),
            loose: loose.filter(|(_, until)| until.0 > 0),
            watch: self.plan.watch,
            watch_until: match blocks {
                true => Nanos::ZERO,
                false => Nanos(self.watch_until),
            },
            expected: self.cost.map(|cost| ExpectedCost {
                energy: Joules(cost.joules * 1e-9),
                delay: Nanos(cost.delay as u64),
            }),
        }
    }
}

/// Returns how many I/Os in a row have completed when the core wakes by chance in one case of a thousand, if it rests
/// until `point` and `depth` are out.
pub(super) fn surprising(point: usize, depth: u32) -> u8 {
    let share = (2 * point + 1) as f64 / (2 * POINTS) as f64;
    let many = (0.001_f64.ln() / share.ln()).ceil() * f64::from(depth);
    many.clamp(4.0, f64::from(u8::MAX)) as u8
}
