//! Errors of a device's measurement.

use crate::device_rates::DeviceRatesError;
use crate::error::OpenError;
use crate::output_file::OutputFileError;
use crate::profile_file::ProfileFileError;
use joulio_model::ProfileError;
use joulio_twin::TwinError;
use joulio_twin::device_fit::DeviceFitError;
use joulio_workload::{JobError, Method, RunError, Spoiled};
use std::path::PathBuf;

/// Reason why a device's rates, or a profile of them, are not available.
#[derive(Debug, thiserror::Error)]
pub enum DeviceMeasureError {
    /// The file of the profile, or of the rates beside it, cannot be used.
    #[error(transparent)]
    File(#[from] ProfileFileError),
    /// No profile of the machine, or none to take the other figures from.
    #[error(transparent)]
    NoProfile(ProfileError),
    /// The measurement was spoiled, and a profile made from it would be used for months.
    #[error(
        "--write-profile {}: not written, the rates are not the device's own: {}; then measure again, or say --allow-busy",
        path.display(),
        spoiled.why
    )]
    NotWritten {
        /// File of the profile.
        path: PathBuf,
        /// Disturbance that spoiled the measurement.
        spoiled: Spoiled,
    },
    /// Rates were measured, but no profile fits them.
    #[error("{error}; no profile is written, the rates are in {}", path.display())]
    RatesOnly {
        /// Reason why there is no profile.
        error: Box<DeviceMeasureError>,
        /// File of the rates.
        path: PathBuf,
    },
    /// The profile cannot be written as TOML.
    #[error(transparent)]
    Toml(#[from] toml_edit::ser::Error),
    /// A file could not be written although it was checked before.
    #[error(transparent)]
    Write(OutputFileError),
    /// The device cannot be opened, or not with this engine.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The device, or the profile that the other figures come from, does not support this I/O size.
    #[error("--bs: {bytes}: {problem}")]
    Size {
        /// Bytes of an I/O.
        bytes: u64,
        /// Problem with the size, and its remedy.
        problem: String,
    },
    /// The device does not support this engine.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The machine's profile has no times of its software to subtract.
    #[error(transparent)]
    Machine(TwinError),
    /// The measurement was spoiled: other programs ran meanwhile, or the machine was disturbed otherwise. Stop them and
    /// measure again.
    #[error("{}", .0.why)]
    Spoiled(Spoiled),
    /// The measurement was stopped early.
    #[error("nothing is written")]
    Interrupted,
    /// A completion mode that is unavailable for the device on this machine.
    #[error("{} {}: unavailable: {reason}", method.engine, method.mode)]
    Unavailable {
        /// The engine and the mode.
        method: Method,
        /// Reason why it is unavailable.
        reason: String,
    },
    /// I/Os failed.
    #[error("{ios} I/O(s) failed; the first: {first}")]
    Failed {
        /// Number of failed I/Os.
        ios: u64,
        /// Description of the first failed I/O.
        first: String,
    },
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The file of measured rates cannot be read back.
    #[error(transparent)]
    Rates(#[from] DeviceRatesError),
    /// The measured rates fit no profile.
    #[error(transparent)]
    Fit(#[from] DeviceFitError),
    /// No valid profile can be made with the device's size.
    #[error("no profile can be made of what was measured: {0}")]
    Profile(#[from] ProfileError),
}

impl DeviceMeasureError {
    /// Returns true if nothing was measured, because it is not possible.
    pub fn is_refusal(&self) -> bool {
        use DeviceMeasureError as Error;
        match self {
            Error::Run(error) => matches!(error, RunError::Job(_)),
            Error::Open(_) | Error::Size { .. } | Error::Job(_) | Error::Machine(_) => true,
            Error::File(_) | Error::NoProfile(_) => true,
            _ => false,
        }
    }
}
