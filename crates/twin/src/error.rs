//! Errors of a simulation.

use joulio_job::{CompletionMode, EngineName};
use joulio_wait::StepKind;

/// Error of a job that cannot be simulated: each message is one line that names what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TwinError {
    /// The machine's profile has no times.
    #[error(
        "machine '{machine}' has no [costs]: take a profile that has, as xeon-e3-1230v5, or add them"
    )]
    NoCosts {
        /// The machine's name.
        machine: String,
    },
    /// The run has no device.
    #[error("no device: name at least one device profile")]
    NoDevice,
    /// The method is not modelled.
    #[error("completion mode {mode} is not modelled for {engine}")]
    Method {
        /// The engine.
        engine: EngineName,
        /// The completion mode.
        mode: CompletionMode,
    },
    /// A field of the job is invalid.
    #[error("{field}: {problem}")]
    Job {
        /// The field of [`joulio_job::Job`] or [`crate::TwinSetup`].
        field: &'static str,
        /// Description of the problem, and of a valid value.
        problem: String,
    },
    /// The policy planned a step that the machine lacks, or that the policy did not announce.
    #[error("policy '{policy}' planned a {kind:?} step, which machine '{machine}' does not have")]
    Step {
        /// The policy's name.
        policy: String,
        /// The step.
        kind: StepKind,
        /// The machine's name.
        machine: String,
    },
    /// The run would go on beyond the end of virtual time.
    #[error(
        "the run takes more than six days of virtual time: request fewer I/Os, or more of them a second"
    )]
    TooLong,
    /// The run was stopped before its end.
    #[error("stopped before its end: run it again for a result")]
    Stopped,
}
