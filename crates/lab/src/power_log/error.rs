//! Errors of power logs and of their windows.

use crate::output_file::OutputFileError;
use joulio_energy::alignment::AlignError;
use std::io;
use std::path::PathBuf;

/// Reason why steps with a person at the machine, or their file, failed.
#[derive(Debug, thiserror::Error)]
pub enum PowerLogError {
    /// The file cannot be read, or has no windows or markers: name another.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        why: String,
    },
    /// The file cannot be written: name another.
    #[error("--file: {0}")]
    Unwritable(#[source] OutputFileError),
    /// The file already exists: continue it, or name another.
    #[error("--file: {} exists already: go on with it by --resume, or name another", .0.display())]
    Exists(PathBuf),
    /// The file belongs to another plan.
    #[error("{} belongs to another plan ({devices} for {seconds} s each): leave --devices, --time and --marker out to go on with it, or name another --file", path.display())]
    AnotherPlan {
        /// Devices of the file's plan.
        path: PathBuf,
        /// The plan's devices.
        devices: String,
        /// Seconds of each window.
        seconds: f64,
    },
    /// The name of a device is empty or has control characters.
    #[error("--devices: {0:?} is not a name")]
    NoName(String),
    /// Two devices have the same name.
    #[error(
        "--devices: '{0}' is given twice: distinguish them, as in 'no device' and 'no device again'"
    )]
    SameName(String),
    /// The window is too short for the meters.
    #[error("--time: give at least 1 s: meters resolve no less")]
    TooShort,
    /// The markers are not in the log.
    #[error(transparent)]
    Alignment(#[from] AlignError),
    /// The steps done so far cannot be saved.
    #[error("--file: {0}")]
    NotSaved(#[source] OutputFileError),
    /// The steps done so far cannot be converted to JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The meters cannot be read.
    #[error(transparent)]
    Meters(io::Error),
    /// The person's input cannot be read.
    #[error(transparent)]
    Person(io::Error),
    /// The machine's clock was changed during a window: repeat the step.
    #[error(
        "the machine's clock was changed by {0:.1} s during the window: the step is not done; go on with --resume"
    )]
    ClockSet(f64),
}

impl PowerLogError {
    /// Returns true if nothing was done.
    pub fn is_refusal(&self) -> bool {
        !matches!(
            self,
            PowerLogError::NotSaved(_)
                | PowerLogError::Json(_)
                | PowerLogError::Meters(_)
                | PowerLogError::Person(_)
                | PowerLogError::ClockSet(_)
        )
    }
}
