//! Errors of experiments in virtual time.

use super::frequency::FrequencyError;
use crate::error::OpenError;
use joulio_model::ProfileError;
use joulio_model::machine::costs::{IdleState, UnknownIdleState};
use joulio_twin::TwinError;
use joulio_workload::{EngineName, JobError};

/// Reason why an experiment cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum VirtualError {
    /// A scheduler was given for an engine that is not the kernel's.
    #[error(
        "--scheduler with --twin: {0} uses no scheduler: name an engine of the kernel, as --engine psync"
    )]
    Scheduler(EngineName),
    /// An option that has no meaning in virtual time.
    #[error("{flag} with --twin: {why}")]
    Senseless {
        /// Flag of the option.
        flag: &'static str,
        /// Reason why it has no meaning.
        why: &'static str,
    },
    /// The name is not that of an idle state.
    #[error("--max-cstate: {0}")]
    NoIdleState(UnknownIdleState),
    /// No profile of that machine.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The device has no profile.
    #[error(
        "--device {0} with --twin: virtual time has the devices that have a profile: emulated:optane-900p"
    )]
    NotEmulated(String),
    /// The parameter only affects a device with data.
    #[error("--device {name} with --twin: {parameter} has no meaning in virtual time")]
    Meaningless {
        /// Name of the device.
        name: String,
        /// The parameter: `file=` or `seed=`.
        parameter: &'static str,
    },
    /// The device's profile or size is not valid.
    #[error(transparent)]
    Device(#[from] OpenError),
    /// The job does not fit a device.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The machine cannot have this frequency.
    #[error(transparent)]
    Frequency(#[from] FrequencyError),
    /// The machine does not have this idle state.
    #[error("--max-cstate {state} with --twin: {machine} has no such idle state: it has {known}")]
    IdleState {
        /// State that was requested.
        state: IdleState,
        /// Name of the machine.
        machine: String,
        /// Names of its states.
        known: String,
    },
    /// The method or the job cannot be modelled.
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

/// Names the flags in the error of a method.
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
