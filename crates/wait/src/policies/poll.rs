//! Polling.

use crate::{Outstanding, Policy, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// Polling: spins until a completion is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Poll;

impl Policy for Poll {
    fn name(&self) -> Cow<'static, str> {
        "poll".into()
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin)
    }

    fn fixed(&self) -> Option<Step> {
        Some(Step::SPIN)
    }

    #[inline]
    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        Step::SPIN
    }
}
