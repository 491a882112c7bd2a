//! The least energy that keeps a promise.

mod account;
mod batches;
mod blocking;
mod choose;
mod class_plan;
mod costing;
mod costs;
mod deep;
mod delays;
mod ends;
mod gaps;
mod goal;
mod history;
mod hot;
mod lateness;
mod plan;
mod points;
mod promise;
mod replan;
mod shared;
mod sorted;
mod state;
mod tail;
#[cfg(test)]
mod tests;

pub use costs::{IdleCost, WaitCosts};
pub use goal::{Goal, Objective, Promised, UnknownObjective};

use crate::{Class, Outstanding, PlannedWait, Policy, Slept, Step, StepKind, StepSet};
use joulio_units::Nanos;
use state::State;
use std::borrow::Cow;

/// Plans each wait from the recent times of I/Os and from the cost of each step: it rests until a completion is
/// likely, watches, and blocks when the I/O takes longer than any recent one. The cost of a plan is its joules and its
/// weighted delay; the closer the promise is to being broken, the more a delay counts.
#[derive(Clone, Debug)]
pub struct Adaptive(Box<State>);

impl Adaptive {
    /// Creates a policy that reaches `goal` for one of `jobs` jobs on a machine of `costs`, with `steps`, which
    /// include [`Adaptive::STEPS`].
    ///
    /// # Panics
    /// `costs` has no idle state.
    pub fn new(costs: WaitCosts, goal: Goal, jobs: usize, steps: StepSet) -> Adaptive {
        Adaptive(Box::new(State::new(costs, goal, jobs, steps)))
    }

    /// Creates a policy for a machine whose costs are not known, with the default latency budget and objective, that
    /// spins, sleeps and blocks.
    pub fn generic() -> Adaptive {
        Adaptive::new(WaitCosts::generic(), Goal::default(), 1, Adaptive::STEPS)
    }

    /// Steps that every machine has.
    pub const STEPS: StepSet = StepSet::NONE
        .with(StepKind::Spin)
        .with(StepKind::Sleep)
        .with(StepKind::Block);
}

impl Policy for Adaptive {
    fn name(&self) -> Cow<'static, str> {
        "adaptive".into()
    }

    fn steps(&self) -> StepSet {
        self.0.steps
    }

    fn timed(&self) -> bool {
        true
    }

    fn waited(&mut self, time: Nanos, _: Nanos) {
        self.0.waited(time);
    }

    #[inline]
    fn submitted(&mut self, class: Class, at: Nanos) {
        self.0.submitted(class, at);
    }

    #[inline]
    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        self.0.completed(class, submitted, at);
    }

    fn planned(&self, class: Class) -> Option<PlannedWait> {
        let class = class.kept()?;
        Some(self.0.planned_of(class))
    }

    fn asks_lost(&self) -> bool {
        true
    }

    fn lost(&mut self, time: Nanos, at: Nanos) {
        self.0.lost(time, at);
    }

    fn woke(&mut self, _: Slept, at: Nanos) {
        self.0.woke(at);
    }

    #[inline]
    fn plan(&mut self, outstanding: &dyn Outstanding, _: StepSet, now: Nanos) -> Step {
        self.0.plan(outstanding, now)
    }
}
