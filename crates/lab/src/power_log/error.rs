//! Why a power log, or a window of one, gives no figures.

use crate::output_file::OutputFileError;
use joulio_energy::alignment::AlignError;
use std::io;
use std::path::PathBuf;

/// Why steps with a person at the machine, or the file of them, failed.
#[derive(Debug, thiserror::Error)]
pub enum PowerLogError {
    /// The file cannot be read, or is none of those that have windows or markers: name another.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The file cannot be written to: name another.
    #[error("--file: {0}")]
    Unwritable(#[source] OutputFileError),
    /// The file is there already: go on with it, or name another.
    #[error("--file: {} exists already: go on with it by --resume, or name another", .0.display())]
    Exists(PathBuf),
    /// The file's plan is another one.
    #[error("{} belongs to another plan ({devices} for {seconds} s each): leave --devices, --time and --marker out to go on with it, or name another --file", path.display())]
    AnotherPlan {
        /// The file.
        path: PathBuf,
        /// The plan's devices.
        devices: String,
        /// Seconds of each window.
        seconds: f64,
    },
    /// A device has no name.
    #[error("--devices: {0:?} is not a name")]
    NoName(String),
    /// A device is named twice.
    #[error(
        "--devices: '{0}' is given twice: distinguish them, as in 'no device' and 'no device again'"
    )]
    SameName(String),
    /// The window is shorter than meters need.
    #[error("--time: give at least 1 s: meters resolve no less")]
    TooShort,
    /// The markers are not in the log.
    #[error(transparent)]
    Alignment(#[from] AlignError),
    /// The steps so far cannot be kept.
    #[error("--file: {0}")]
    NotSaved(#[source] OutputFileError),
    /// The steps so far cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The meters cannot be read.
    #[error(transparent)]
    Meters(io::Error),
    /// The person cannot be heard.
    #[error(transparent)]
    Person(io::Error),
    /// The machine's clock was set within a window: go on with the step.
    #[error(
        "the machine's clock was changed by {0:.1} s during the window: the step is not done; go on with --resume"
    )]
    ClockSet(f64),
}

impl PowerLogError {
    /// True if nothing was done.
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
