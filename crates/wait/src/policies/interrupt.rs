//! Interrupts.

use crate::{Outstanding, Policy, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// Interrupts: blocks until the device raises the queue's vector.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interrupt;

impl Policy for Interrupt {
    fn name(&self) -> Cow<'static, str> {
        "interrupt".into()
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Block)
    }

    fn fixed(&self) -> Option<Step> {
        Some(Step::BLOCK)
    }

    #[inline]
    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        Step::BLOCK
    }
}
