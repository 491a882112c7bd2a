//! Errors of advice: reasons why none can be given.

use super::iolog::IologError;
use crate::disk_activity::DiskError;
use crate::experiment::{BadResults, ExperimentError};
use joulio_host::power_states::coalescing::ParseCoalescingError;
use joulio_units::{Boundary, Nanos, Percentile, Watts};
use joulio_workload::JobError;

/// Text of [`AdviseError::Interrupted`] for candidates.
pub(super) const MISSED_SOME: &str = "no advice: not all candidates were run";

/// Reason why no advice can be given.
#[derive(Debug, thiserror::Error)]
pub enum AdviseError {
    /// The workload is not valid: change the flag that the message names.
    #[error(transparent)]
    Job(#[from] JobError),
    /// No engine has any of the completion modes that were named.
    #[error("--engine, --completion: no engine has any of these completion modes at this iodepth")]
    NoMethod,
    /// A workload should be observed, but no disk was named.
    #[error(
        "--observe: which block device? name it by --disk, as nvme0n1, or as the first --device"
    )]
    NoDisk,
    /// The name is no disk, or its counters cannot be read.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The file to take the workload from is not a log of fio's.
    #[error(transparent)]
    Iolog(#[from] IologError),
    /// The disk that was observed was idle.
    #[error(
        "--observe: {disk} had no I/O in {} s: watch it for longer, or describe the workload",
        time.seconds()
    )]
    NoIo {
        /// Name of the disk.
        disk: String,
        /// Time that it was watched, in nanoseconds.
        time: Nanos,
    },
    /// The text is not an interrupt coalescing.
    #[error(transparent)]
    Coalescing(#[from] ParseCoalescingError),
    /// The runs of the candidates failed.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// Runs failed or read wrong data, so their results cannot be used.
    #[error(transparent)]
    Bad(#[from] BadResults),
    /// A signal ended the runs; the text says what is missing.
    #[error("{0}")]
    Interrupted(&'static str),
    /// A percentile that advice does not compare.
    #[error("--slo {0}: advice compares p50, p90, p99 and p99.9: give limits for these")]
    Percentile(Percentile),
    /// The runs have no figures.
    #[error("no completion mode is available: {0}")]
    Unavailable(String),
    /// No run has an energy figure at this boundary.
    #[error(
        "{flag} {boundary}: no figure of energy there: joulio power says which meters can be read, --machine names a profile for the model"
    )]
    NoFigure {
        /// Flag that requests the boundary.
        flag: &'static str,
        /// Boundary without a figure.
        boundary: Boundary,
    },
    /// A promise that no candidate keeps.
    #[error(
        "--slo {percentile}={limit}: no candidate is that fast: the fastest, {quickest}, has {percentile} of {latency}: allow more"
    )]
    Promise {
        /// Percentile of the promise.
        percentile: Percentile,
        /// Latency that was promised.
        limit: Microseconds,
        /// The candidate with the lowest latency at this percentile.
        quickest: String,
        /// The lowest 99th percentile of all candidates.
        latency: Microseconds,
    },
    /// Arrivals that no candidate keeps up with.
    #[error(
        "no candidate keeps up with the arrivals: the fastest, {fastest}, does {iops:.0} I/Os a second: request fewer, or a higher --iodepth"
    )]
    Behind {
        /// The candidate that does the most I/Os.
        fastest: String,
        /// I/Os a second that it does.
        iops: f64,
    },
    /// A cap that every candidate exceeds.
    #[error(
        "--cap {cap}: every candidate draws more at the {boundary}: the least, {candidate}, draws {:.1} W: allow more",
        watts.0
    )]
    Cap {
        /// Watts that were allowed.
        cap: Watts,
        /// Boundary of the watts.
        boundary: Boundary,
        /// The candidate that draws the least.
        candidate: String,
        /// The lowest power of all candidates.
        watts: Watts,
    },
}

impl AdviseError {
    /// Returns true if the request itself is wrong; nothing was changed.
    pub fn is_refusal(&self) -> bool {
        match self {
            AdviseError::Experiment(error) => error.is_refusal(),
            AdviseError::NoIo { .. } | AdviseError::Bad(_) | AdviseError::Interrupted(_) => false,
            _ => true,
        }
    }
}

/// A time that is displayed in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Microseconds(pub Nanos);

impl std::fmt::Display for Microseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let us = self.0.0 as f64 / 1e3;
        match self.0.0 % 1_000 {
            0 => write!(f, "{us:.0}us"),
            _ => write!(f, "{us:.1}us"),
        }
    }
}
