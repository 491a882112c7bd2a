//! Why a device was not measured.

use crate::device_rates::DeviceRatesError;
use crate::error::OpenError;
use crate::output_file::OutputFileError;
use crate::profile_file::ProfileFileError;
use joulio_model::ProfileError;
use joulio_twin::TwinError;
use joulio_twin::device_fit::DeviceFitError;
use joulio_workload::{JobError, Method, RunError, Spoiled};
use std::path::PathBuf;

/// Why there are no rates of a device, or no profile of them.
#[derive(Debug, thiserror::Error)]
pub enum DeviceMeasureError {
    /// No file for the profile, or for the rates beside it.
    #[error(transparent)]
    File(#[from] ProfileFileError),
    /// The machine does not exist, or there is no profile to take the rest from.
    #[error(transparent)]
    NoProfile(ProfileError),
    /// The rates are not the device's own, and a profile is used for months.
    #[error(
        "--write-profile {}: not written, the rates are not the device's own: {}; then measure again, or say --allow-busy",
        path.display(),
        spoiled.why
    )]
    NotWritten {
        /// File of the profile.
        path: PathBuf,
        /// Reason why the rates are not the device's own.
        spoiled: Spoiled,
    },
    /// Rates were measured, and no profile fits them.
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
    /// A file could not be written after all.
    #[error(transparent)]
    Write(OutputFileError),
    /// The device cannot be opened, or not for that engine.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A size that the device, or the profile that the rest is taken from, does not do.
    #[error("--bs: {bytes}: {problem}")]
    Size {
        /// Bytes of an I/O.
        bytes: u64,
        /// Problem, and its remedy.
        problem: String,
    },
    /// The device has no such engine.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The machine's profile has no times to take off.
    #[error(transparent)]
    Machine(TwinError),
    /// The measurement was spoiled: other programs ran meanwhile, or the machine was disturbed otherwise. Stop them,
    /// and measure again.
    #[error("{}", .0.why)]
    Spoiled(Spoiled),
    /// Ended early.
    #[error("nothing is written")]
    Interrupted,
    /// A completion mode that the device does not have here.
    #[error("{} {}: unavailable: {reason}", method.engine, method.mode)]
    Unavailable {
        /// The engine and the mode.
        method: Method,
        /// Why.
        reason: String,
    },
    /// I/Os failed.
    #[error("{ios} I/O(s) failed; the first: {first}")]
    Failed {
        /// Number of them.
        ios: u64,
        /// Description of the first.
        first: String,
    },
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The rates that were measured cannot be read again.
    #[error(transparent)]
    Rates(#[from] DeviceRatesError),
    /// The measured rates fit no profile.
    #[error(transparent)]
    Fit(#[from] DeviceFitError),
    /// The device's size makes no profile.
    #[error("no profile can be made of what was measured: {0}")]
    Profile(#[from] ProfileError),
}

impl DeviceMeasureError {
    /// True if nothing was measured, since it cannot be.
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
