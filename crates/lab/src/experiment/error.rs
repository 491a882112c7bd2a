//! Errors of experiments.

use super::energy::EnergyError;
use super::io_logs::IoLogError;
use super::settings::SettingError;
use crate::error::OpenError;
use crate::external::ExternalError;
use crate::virtual_time::VirtualError;
use joulio_host::ChangeError;
use joulio_host::knobs::KnobError;
use joulio_workload::{JobError, RunError};

/// Reason why an experiment failed.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The workload is not valid: change the flag that the message names.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A device cannot be opened, or the job cannot run on it.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A meter, a profile or the idle baseline is unavailable.
    #[error(transparent)]
    Energy(#[from] EnergyError),
    /// The run of another program is not possible, or failed.
    #[error(transparent)]
    External(#[from] ExternalError),
    /// The experiment cannot be simulated.
    #[error(transparent)]
    Virtual(#[from] VirtualError),
    /// A setting of the machine is unavailable.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The CPUs' latency cannot be held.
    #[error(transparent)]
    Latency(#[from] KnobError),
    /// A setting could not be made or restored.
    #[error(transparent)]
    Change(#[from] Box<ChangeError>),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A log of I/Os cannot be written.
    #[error(transparent)]
    Log(#[from] IoLogError),
}

impl ExperimentError {
    /// Returns true if nothing was done, and nothing is left changed.
    pub fn is_refusal(&self) -> bool {
        match self {
            ExperimentError::Job(_)
            | ExperimentError::Open(_)
            | ExperimentError::Energy(_)
            | ExperimentError::Virtual(_)
            | ExperimentError::Setting(_)
            | ExperimentError::Latency(_) => true,
            ExperimentError::External(error) => error.is_unfit(),
            ExperimentError::Change(error) => !error.leaves_changes(),
            ExperimentError::Run(error) => matches!(error, RunError::Job(_)),
            ExperimentError::Log(error) => matches!(error, IoLogError::SameFile(_)),
        }
    }

    /// Returns true if another process holds a setting that had to be changed. Nothing was done, and the request can
    /// succeed once that process has ended.
    pub fn waits_for_another(&self) -> bool {
        matches!(self, ExperimentError::Change(error) if error.waits_for_another())
    }
}
