//! Errors of experiments in virtual time.

use super::frequency::FrequencyError;
use crate::error::OpenError;
use joulio_model::ProfileError;
use joulio_model::machine::costs::IdleState;
use joulio_twin::TwinError;
use joulio_workload::{EngineName, JobError};

/// An experiment that cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum VirtualError {
    /// A scheduler for an engine that is not the kernel's.
    #[error(
        "--scheduler with --twin: {0} uses no scheduler: name an engine of the kernel, as --engine psync"
    )]
    Scheduler(EngineName),
    /// An option that has no meaning in virtual time.
    #[error("{flag} with --twin: {why}")]
    Senseless {
        /// Flag of the option.
        flag: &'static str,
        /// Reason why it has none.
        why: &'static str,
    },
    /// A name that is no idle state's.
    #[error("--max-cstate: {0}")]
    NoIdleState(String),
    /// The machine has no profile of that name.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A device that has no profile.
    #[error(
        "--device {0} with --twin: virtual time has the devices that have a profile: emulated:optane-900p"
    )]
    NotEmulated(String),
    /// A parameter that only a device with data has.
    #[error("--device {name} with --twin: {parameter} has no meaning in virtual time")]
    Meaningless {
        /// Name of the device.
        name: String,
        /// The parameter: `file=` or `seed=`.
        parameter: &'static str,
    },
    /// A device's profile or size.
    #[error(transparent)]
    Device(#[from] OpenError),
    /// The job does not fit a device.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A frequency that the machine cannot have.
    #[error(transparent)]
    Frequency(#[from] FrequencyError),
    /// An idle state that the machine does not have.
    #[error("--max-cstate {state} with --twin: {machine} has no such idle state: it has {known}")]
    IdleState {
        /// State that was requested.
        state: IdleState,
        /// Name of the machine.
        machine: String,
        /// Names of its states.
        known: String,
    },
    /// The method or the job is not modelled.
    #[error("{}", in_flags(.0))]
    Method(TwinError),
    /// A run cannot be simulated.
    #[error(transparent)]
    Twin(TwinError),
}

impl From<TwinError> for VirtualError {
    fn from(error: TwinError) -> VirtualError {
        VirtualError::Method(error)
    }
}

/// Names the flags that a method is of.
fn in_flags(error: &TwinError) -> String {
    match error {
        TwinError::Method { engine, mode } => {
            format!("--completion {mode} with --twin: not modelled for {engine}")
        }
        TwinError::Job {
            field: "iodepth",
            problem,
        } => format!("--iodepth with --engine: {problem}"),
        error => error.to_string(),
    }
}
