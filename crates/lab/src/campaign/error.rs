//! Why a campaign is not run, or not to its end.

use super::folder::FolderError;
use crate::experiment_file::ExperimentFileError;
use crate::state_file::StateError;
use crate::sweep::{FactorError, SweepFailure, SweepOptionsError};
use std::path::PathBuf;

/// Why a campaign is not run, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The file is no experiment, or makes no sense here.
    #[error(transparent)]
    File(#[from] ExperimentFileError),
    /// A list of a sweep.
    #[error("sweep '{sweep}': {source}")]
    Factor {
        /// Name of the sweep.
        sweep: String,
        /// Fault of the factor.
        source: FactorError,
    },
    /// More runs than anybody does.
    #[error("{runs} runs are too many: at most {max}")]
    TooMany {
        /// Number of runs.
        runs: u64,
        /// Most runs.
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
    /// A machine, or what runs have in common.
    #[error(transparent)]
    Options(#[from] SweepOptionsError),
    /// The results folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The folder has results of another run.
    #[error(
        "--results {}: it has the results of another experiment, or of this one with other options: name another folder",
        .0.display()
    )]
    OtherResults(PathBuf),
    /// The file of records cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// Settings could not be made, or not be put back.
    #[error(transparent)]
    Sweep(#[from] SweepFailure),
}

impl CampaignError {
    /// True if nothing was done, and nothing is left changed.
    pub fn is_refusal(&self) -> bool {
        match self {
            CampaignError::Sweep(error) => error.is_refusal(),
            CampaignError::State(error) => error.is_refusal(),
            CampaignError::Folder(error) => error.is_refusal(),
            _ => true,
        }
    }
}
