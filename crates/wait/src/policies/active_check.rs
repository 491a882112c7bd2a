//! Keeping the core as long as no other thread is runnable there.

use crate::{Outstanding, Policy, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// The rule of Aeolia (SOSP'25), "active checking": the thread takes the device's interrupt itself and keeps its CPU,
/// because switching to idle and back takes longer than the interrupt. If another thread is runnable there, it
/// blocks.
///
/// Aeolia's patched kernel tells the thread which others are runnable; joulio knows it only in virtual time.
#[derive(Clone, Debug)]
pub struct ActiveCheck {
    /// Step of a thread that is alone.
    stay: StepKind,
    others: bool,
}

impl ActiveCheck {
    /// Creates a policy that waits for user interrupts while its thread is alone.
    pub fn user_interrupt() -> ActiveCheck {
        ActiveCheck {
            stay: StepKind::UserInterrupt,
            others: false,
        }
    }

    /// Creates a policy that polls while its thread is alone, as on a processor without user interrupts.
    pub fn poll() -> ActiveCheck {
        ActiveCheck {
            stay: StepKind::Spin,
            others: false,
        }
    }
}

impl Policy for ActiveCheck {
    fn name(&self) -> Cow<'static, str> {
        match self.stay {
            StepKind::Spin => "active-check=poll".into(),
            _ => "active-check".into(),
        }
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(self.stay).with(StepKind::Block)
    }

    fn asks_others(&self) -> bool {
        true
    }

    fn others_runnable(&mut self, others: bool) {
        self.others = others;
    }

    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        match self.others {
            true => Step::BLOCK,
            false => Step::forever(self.stay),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Commands, READ};
    use super::*;

    #[test]
    fn it_stays_until_another_is_runnable() {
        for (mut policy, stay) in [
            (ActiveCheck::user_interrupt(), StepKind::UserInterrupt),
            (ActiveCheck::poll(), StepKind::Spin),
        ] {
            let can = policy.steps();
            let commands = Commands(vec![(READ, 0)]);
            assert!(policy.asks_others());
            assert_eq!(
                policy.plan(&commands, can, Nanos::ZERO),
                Step::forever(stay)
            );
            policy.others_runnable(true);
            assert_eq!(policy.plan(&commands, can, Nanos::ZERO), Step::BLOCK);
            policy.others_runnable(false);
            assert_eq!(
                policy.plan(&commands, can, Nanos::ZERO),
                Step::forever(stay)
            );
        }
    }
}
