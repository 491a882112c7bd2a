//! The completion modes of a run in a claim, and those that a claim cannot run here.

use anyhow::{Context, Result};
use joulio_job::CompletionMode;
use joulio_nvme::wait::{AnyPolicy, Policy, StepKind, Waiter};
use joulio_units::Nanos;

/// Completion modes of a run: one of the driver's, or two in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modes {
    /// One mode for the whole run.
    One(CompletionMode),
    /// Polling and interrupts in turn, with commands in flight.
    Switching,
}

impl From<CompletionMode> for Modes {
    fn from(mode: CompletionMode) -> Modes {
        Modes::One(mode)
    }
}

impl Modes {
    /// Fixed sleeps, shorter than an I/O of most devices.
    pub const HYBRID: CompletionMode = CompletionMode::HybridFixed(Nanos::from_micros(4));
    /// Modes in which a queue goes through each step that every machine has, and back.
    pub const EVERY_STEP: [Modes; 4] = [
        Modes::One(CompletionMode::Poll),
        Modes::One(CompletionMode::Interrupt),
        Modes::Switching,
        Modes::One(Modes::HYBRID),
    ];

    /// Returns the policy with which the queue begins.
    pub(crate) fn first(self) -> Result<AnyPolicy> {
        match self {
            Modes::One(mode) => mode
                .policy()
                .with_context(|| format!("{mode} is not a mode of the user-space driver")),
            Modes::Switching => Ok(AnyPolicy::POLL),
        }
    }
}

/// Returns why a claim cannot run `policy` on this machine; `None`: it can.
pub(crate) fn lacks(policy: &AnyPolicy) -> Option<String> {
    if policy.asks_others() {
        return Some("a queue does not know which threads are runnable".into());
    }
    let waiter = Waiter::new();
    Some(match policy.steps().missing_in(waiter.can())? {
        // A thread has them only while it is attached to a device whose interrupts the module delivers.
        StepKind::UserInterrupt => "claims take no user interrupts".into(),
        kind => waiter.lacks(kind),
    })
}
