//! Why nothing was simulated.

use joulio_wait::StepKind;

/// Why a job cannot be played: each message is one line that names what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TwinError {
    /// The machine's profile says nothing of times.
    #[error(
        "machine '{machine}' has no [costs]: take a profile that has, as xeon-e3-1230v5, or add them"
    )]
    NoCosts {
        /// The machine's name.
        machine: String,
    },
    /// There is nothing to do I/O to.
    #[error("no device: name at least one device profile")]
    NoDevice,
    /// A field of the job makes no sense.
    #[error("{field}: {problem}")]
    Job {
        /// The field of [`crate::TwinJob`].
        field: &'static str,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// The policy planned a step that the machine does not have, or that it did not announce.
    #[error("policy '{policy}' planned a {kind:?} step, which machine '{machine}' does not have")]
    Step {
        /// The policy's name.
        policy: String,
        /// The step.
        kind: StepKind,
        /// The machine's name.
        machine: String,
    },
}
