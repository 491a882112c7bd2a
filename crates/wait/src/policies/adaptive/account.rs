//! The bound of ski rental, kept over all waits.

use super::costs::WaitCosts;
use crate::{Step, StepKind};
use joulio_units::Nanos;

/// Cost of the waits so far, and its bound: twice the cost of a waiter that knows when each I/O completes, and
/// one wake-up for each I/O. Plans follow what is likely; where they cost more than this bound, the core spins for
/// the break-even time and then blocks, which never exceeds it.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// Nanojoules.
    spent: f64,
    may: f64,
    /// Step that is being taken, and its beginning.
    taken: Option<(StepKind, Nanos)>,
}

/// Share of the bound from which on plans are not trusted. The rest is for costs that are not counted in time: waits
/// until the next plan, and an I/O that was seen late and counts as one that took longer. With 0.9, 13 of 37,000
/// series of I/Os with a heavy tail exceeded their bound, at most by 8.6 %; with 0.7 none did, and together they cost
/// 0.7 % less.
const TRUSTED: f64 = 0.7;
/// Nanojoules after which both sums are halved.
const FORGOTTEN: f64 = 1e9;

impl Account {
    /// Returns true if plans have used up the trusted share of the bound.
    pub(super) fn is_overdrawn(&self) -> bool {
        self.spent > TRUSTED * self.may
    }

    /// Takes `step` at `now`.
    pub(super) fn took(&mut self, costs: &WaitCosts, step: Step, now: Nanos) {
        self.end(costs, now);
        self.taken = Some((step.kind, now));
    }

    /// Ends the account of the last wait: no I/O is out from `now` on, and the core does not wait for one.
    pub(super) fn pause(&mut self, costs: &WaitCosts, now: Nanos) {
        self.end(costs, now);
    }

    /// Adds to the bound an I/O that took `time` and completed at `at`.
    pub(super) fn completed(&mut self, costs: &WaitCosts, at: Nanos, time: u64) {
        self.end(costs, at);
        let time = time as f64;
        let asleep = costs.asleep(time, costs.timer.0);
        self.may += 2.0 * asleep.min(time * costs.spin.0) + costs.break_even() * costs.spin.0;
        if self.may > FORGOTTEN {
            self.may /= 2.0;
            self.spent /= 2.0;
        }
    }

    /// Adds the cost of the step that ends at `at`.
    fn end(&mut self, costs: &WaitCosts, at: Nanos) {
        let Some((kind, since)) = self.taken.take() else {
            return;
        };
        self.spent += costs.spent(kind, at.since(since));
    }
}
