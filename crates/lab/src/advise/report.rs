//! Advice with all that belongs to it.

use super::advice::Advice;
use super::diagnosis::Diagnosis;
use super::observed::Workload;
use crate::experiment::Manifest;
use joulio_workload::Job;
use serde::Serialize;

/// Advice with what it rests on, as `--output json` prints it.
#[derive(Debug, Serialize)]
pub struct AdviceReport {
    /// What it takes beside the figures to run it again and understand it.
    pub manifest: Manifest,
    /// Workload that was observed; `None`: it was described.
    pub observed: Option<Workload>,
    /// What holds this machine back; empty in virtual time.
    pub diagnoses: Vec<Diagnosis>,
    /// Command that runs the advice.
    pub command: String,
    /// What to choose, and why.
    #[serde(flatten)]
    pub advice: Advice,
    /// The job that was advised on.
    #[serde(skip)]
    pub job: Job,
    /// Name of the modelled machine; `None`: the runs were real.
    #[serde(skip)]
    pub modelled_on: Option<String>,
    /// Disks of the kernel that it was found on.
    #[serde(skip)]
    pub disks: Vec<String>,
}
