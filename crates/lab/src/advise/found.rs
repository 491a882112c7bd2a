//! Results of the candidates' runs.

use super::advice::Advice;
use super::diagnosis::Diagnosis;
use crate::experiment::Manifest;

/// Advice from the runs of all candidates, real or simulated.
pub(super) struct Found {
    pub manifest: Manifest,
    /// Name of the modelled machine; `None`: the runs were real.
    pub modelled_on: Option<String>,
    pub diagnoses: Vec<Diagnosis>,
    pub advice: Advice,
    /// Block devices that the candidates ran on.
    pub disks: Vec<String>,
}
