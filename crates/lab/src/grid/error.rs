//! Errors of a grid, of its state file and of its picture.

use crate::output_file::OutputFileError;
use crate::state_file::StateError;
use joulio_model::ProfileError;
use joulio_twin::TwinError;
use joulio_twin::grid::GridError;
use std::fmt::Display;
use std::path::PathBuf;

/// Reason why a grid failed, at its start or later.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The machine or a device has no profile of that name.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A scenario cannot be simulated.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The state file cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
}

impl SweepError {
    /// Returns true if the request cannot be simulated; false if writing the rows failed.
    pub fn is_refusal(&self) -> bool {
        match self {
            SweepError::Profile(_) | SweepError::Grid(_) => true,
            SweepError::State(error) => error.is_refusal(),
        }
    }
}

impl From<TwinError> for SweepError {
    fn from(error: TwinError) -> SweepError {
        SweepError::Grid(error.into())
    }
}

/// Reason why a picture cannot be drawn or written.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The grid has more maps than fit on a picture.
    #[error(
        "--svg {}: {count} maps are too many for a picture: name fewer of --numjobs, --bs and --rwmixread",
        path.display()
    )]
    TooMany {
        /// File of the picture.
        path: PathBuf,
        /// Number of maps of the grid.
        count: usize,
    },
    /// The picture's file cannot be written.
    #[error("--svg: {0}")]
    File(#[from] OutputFileError),
    /// Drawing failed.
    #[error("--svg: {0}")]
    Drawing(String),
}

impl PictureError {
    /// Returns the error for a failure of the drawing library.
    pub(super) fn drawing(error: impl Display) -> PictureError {
        PictureError::Drawing(error.to_string())
    }
}
