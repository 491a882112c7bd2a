//! Waiting for the device's own write, by UMWAIT (MWAITX on AMD).

use crate::{Outstanding, Policy, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// Watches the cache line that the next completion is written to: the device's write wakes the
/// core. No interrupt, no kernel, and no empty poll.
#[derive(Clone, Copy, Debug, Default)]
pub struct Umwait;

impl Policy for Umwait {
    fn name(&self) -> Cow<'static, str> {
        "umwait".into()
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Monitor)
    }

    fn fixed(&self) -> Option<Step> {
        Some(Step::forever(StepKind::Monitor))
    }

    #[inline]
    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        Step::forever(StepKind::Monitor)
    }
}
