//! Record that allows each command one sleep.

use crate::{Class, Outstanding, Step, StepKind};
use joulio_units::Nanos;

/// Record of the commands that have had their sleep. The core sleeps once for all that are outstanding, until the
/// first of their times; once any of them has had its sleep it polls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Once {
    /// Commands submitted up to here have had their sleep.
    slept_at: Nanos,
}

impl Once {
    /// Returns the step for all commands together; `wish` gives the step for one command, from its class and its
    /// submission. `None` without commands. A sleep that is over, or was had before, becomes polling.
    pub(crate) fn plan(
        &mut self,
        outstanding: &dyn Outstanding,
        now: Nanos,
        mut wish: impl FnMut(Class, Nanos) -> Step,
    ) -> Option<Step> {
        let slept_at = self.slept_at;
        let mut of = |class, submitted| {
            let step = wish(class, submitted);
            let had = submitted <= slept_at || step.until <= now;
            match matches!(step.kind, StepKind::Sleep | StepKind::Pause) && had {
                true => Step::SPIN,
                false => step,
            }
        };
        let step = match outstanding.only() {
            Some((class, submitted)) => of(class, submitted),
            None => {
                let mut merged: Option<Step> = None;
                outstanding.for_each(&mut |class, submitted| {
                    let step = of(class, submitted);
                    merged = Some(merged.map_or(step, |other| other.merge(step)));
                });
                merged?
            }
        };
        if step.kind == StepKind::Spin {
            return Some(Step::SPIN);
        }
        if step.until != Nanos::MAX {
            self.slept_at = now;
        }
        Some(step)
    }
}
