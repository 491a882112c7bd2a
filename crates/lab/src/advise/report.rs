//! Advice with all that belongs to it.

use super::advice::Advice;
use super::diagnosis::Diagnosis;
use super::observed::Workload;
use crate::FormatVersion;
use crate::experiment::Manifest;
use joulio_workload::Job;
use serde::Serialize;

/// Advice with its basis, as `--output json` prints it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdviceReport {
    /// Version of the format.
    pub version: FormatVersion,
    /// Machine, versions and options: all that is needed beside the figures to repeat and
    /// understand the advice.
    pub manifest: Manifest,
    /// Workload that was observed; `None`: it was described.
    pub observed: Option<Workload>,
    /// True if the writes that were observed were run as reads, as nothing may be written.
    pub writes_as_reads: bool,
    /// Diagnoses of the machine; in virtual time those of its idle states.
    pub diagnoses: Vec<Diagnosis>,
    /// Command that runs the advice.
    pub command: String,
    /// Advice: the best candidate, and the reasons.
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
