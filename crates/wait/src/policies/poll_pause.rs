//! Polling with more or fewer PAUSE instructions.

use crate::{Outstanding, Policy, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// Polling with a number of PAUSE instructions between two polls, where [`crate::Poll`] has one: each takes some 40
/// cycles on AMD's Zen and some 140 on Intel's since Skylake, in which the core draws less and its sibling thread
/// gets more of it (Intel 64 and IA-32 Architectures Optimization Reference Manual, "Pause Latency in Skylake"). With
/// 0 it spins without PAUSE. On average a completion is seen late by half of the pauses' time.
#[derive(Clone, Copy, Debug)]
pub struct PollPause {
    pauses: u32,
}

impl PollPause {
    /// Default number of PAUSE instructions.
    pub const PAUSES: u32 = 8;

    /// Largest number of PAUSE instructions: up to a millisecond on a slow core.
    pub const MAX_PAUSES: u32 = 10_000;

    /// A spin with `pauses` PAUSE instructions between two polls, 0 to [`PollPause::MAX_PAUSES`].
    pub fn new(pauses: u32) -> PollPause {
        PollPause {
            pauses: pauses.min(PollPause::MAX_PAUSES),
        }
    }
}

impl Policy for PollPause {
    fn name(&self) -> Cow<'static, str> {
        match self.pauses {
            PollPause::PAUSES => "poll-pause".into(),
            pauses => format!("poll-pause={pauses}").into(),
        }
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin)
    }

    #[inline]
    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        Step {
            pauses: self.pauses,
            ..Step::SPIN
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Commands;
    use super::*;

    #[test]
    fn it_spins_with_as_many_pauses_as_its_name_says() {
        let plan = |pauses| {
            let mut policy = PollPause::new(pauses);
            let step = policy.plan(&Commands(vec![]), policy.steps(), Nanos(5));
            assert!(!policy.timed());
            (policy.name().into_owned(), step.kind, step.pauses)
        };
        assert_eq!(plan(8), ("poll-pause".into(), StepKind::Spin, 8));
        assert_eq!(plan(0), ("poll-pause=0".into(), StepKind::Spin, 0));
        assert_eq!(plan(70), ("poll-pause=70".into(), StepKind::Spin, 70));
        assert_eq!(plan(u32::MAX).2, PollPause::MAX_PAUSES);
    }
}
