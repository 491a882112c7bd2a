//! Ends of the rests and watches of all I/Os that are out.

use super::class_plan::ClassPlan;
use super::costs::WaitCosts;
use crate::{Step, StepKind};
use joulio_units::Nanos;

/// Times at which the plans of all I/Os that are out begin and end, merged.
pub(super) struct Ends {
    /// End of the first rest, and its kind.
    rest: Nanos,
    rest_kind: StepKind,
    /// End of the first loose watch, and its kind.
    loose: Nanos,
    loose_kind: StepKind,
    /// End of the close watch, and its step: the shallowest, of those alike the last to end.
    close: Nanos,
    closely: Step,
}

impl Ends {
    /// Ends without any I/O to watch for.
    pub(super) const NONE: Ends = Ends {
        rest: Nanos::MAX,
        rest_kind: StepKind::Sleep,
        loose: Nanos::MAX,
        loose_kind: StepKind::Block,
        close: Nanos::ZERO,
        closely: Step::BLOCK,
    };

    /// Adds an I/O of `plan` that was `submitted`; another that is out had `waited` so long before its submission.
    #[inline]
    pub(super) fn add(&mut self, plan: &ClassPlan, submitted: Nanos, waited: u64, now: Nanos) {
        let until = submitted + Nanos(plan.watch_until);
        if until <= now {
            // The I/O takes longer than any recent one: the core does not watch for it alone.
            return;
        }
        let (kind, other) = (plan.plan.watch, self.closely.kind);
        // A deeper watch would not see, or see late, an I/O that is to be watched for by this one.
        if kind < other || (kind == other && until > self.close) {
            self.close = until;
            self.closely = watch(plan, until);
        }
        let until = submitted + Nanos(plan.rest_until);
        if until < self.rest {
            self.rest = until;
            self.rest_kind = plan.rest;
        }
        let kind = plan.plan.loose.unwrap_or(plan.plan.watch);
        self.loose_kind = self.loose_kind.min(kind);
        if plan.plan.watch != StepKind::Block {
            let until = submitted + Nanos(plan.loose_until.saturating_sub(waited));
            self.loose = self.loose.min(until);
        }
    }

    /// Returns the step at `now` on a machine of `costs`.
    pub(super) fn step(&self, costs: &WaitCosts, now: Nanos) -> Step {
        if self.close == Nanos::ZERO {
            return Step::BLOCK;
        }
        let before = match self.rest_kind {
            StepKind::Sleep => costs.sleep_before,
            _ => costs.poll,
        };
        if self.rest != Nanos::MAX && self.rest > now + before {
            Step::new(self.rest_kind, self.rest)
        } else if self.loose > now {
            Step::new(self.loose_kind, self.loose)
        } else {
            self.closely
        }
    }
}

/// The close watch of `plan`.
#[inline]
pub(super) fn watch(plan: &ClassPlan, until: Nanos) -> Step {
    match plan.plan.watch {
        StepKind::Block => Step::BLOCK,
        kind => Step::new(kind, until),
    }
}
