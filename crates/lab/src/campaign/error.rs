//! Errors of campaigns.

use super::folder::FolderError;
use crate::experiment_file::ExperimentFileError;
use crate::state_file::StateError;
use crate::sweep::{FactorError, SweepFailure, SweepOptionsError};
use std::path::PathBuf;

/// Reason why a campaign was not run, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The file is not a valid experiment, or cannot be used here.
    #[error(transparent)]
    File(#[from] ExperimentFileError),
    /// A sweep's list of values is not valid.
    #[error("sweep '{sweep}': {source}")]
    Factor {
        /// Name of the sweep.
        sweep: String,
        /// Problem with the factor.
        source: FactorError,
    },
    /// The campaign has too many runs.
    #[error("{runs} runs are too many: at most {max}")]
    TooMany {
        /// Number of runs.
        runs: u64,
        /// Largest number of runs.
        max: u64,
    },
    /// The experiment has nothing that can be run here.
    #[error("nothing of {experiment} can be run here: {why}")]
    Nothing {
        /// Name of the experiment.
        experiment: String,
        /// The first reason.
        why: String,
    },
    /// A machine, or an option of all runs, is not valid.
    #[error(transparent)]
    Options(#[from] SweepOptionsError),
    /// The results folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The folder has results of another campaign.
    #[error(
        "--results {}: it has the results of another experiment, or of this one with other options: name another folder",
        .0.display()
    )]
    OtherResults(PathBuf),
    /// The folder has results of another machine.
    #[error(
        "--results {}: its runs are of another machine ({differences}): name another folder, and merge the two",
        path.display()
    )]
    OtherMachine {
        /// The folder.
        path: PathBuf,
        /// Differences between that machine and this one.
        differences: String,
    },
    /// A device's name was that of another drive when the folder's runs were done.
    #[error(
        "--results {}: {name} was another drive in its runs ({there}; here {here}): name another folder",
        path.display()
    )]
    OtherDrive {
        /// The folder.
        path: PathBuf,
        /// Name of the device.
        name: String,
        /// Description of the drive of those runs.
        there: String,
        /// Description of the drive that has the name now.
        here: String,
    },
    /// The file of records cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// Settings could not be made or restored.
    #[error(transparent)]
    Sweep(#[from] SweepFailure),
}

impl CampaignError {
    /// Returns true if nothing was run, and nothing is left changed.
    pub fn is_refusal(&self) -> bool {
        match self {
            CampaignError::Sweep(error) => error.is_refusal(),
            CampaignError::State(error) => error.is_refusal(),
            CampaignError::Folder(error) => error.is_refusal(),
            _ => true,
        }
    }
}
