//! The states of a job, and the messages between a job and the conductor.
//!
//! ```text
//! job                                                     conductor
//! Preparing  makes its engine, lays out blocks
//!               ── Ready ──────────────────────────────▶  of all: opens the meters
//! Prepared
//!               ◀────────────────────────────── Start ──
//! Ramping    issues I/Os that do not count
//!               ── Began ──────────────────────────────▶  of the first: reads the counters
//! Measured   issues I/Os that count
//!               ── Finished ───────────────────────────▶  of all: reads the counters, closes the
//! Finished                                                meters
//!               ◀───────────────────────────── Verify ──
//! Verifying  reads back what it wrote
//!               ── Verified ───────────────────────────▶  of all: the run is over
//! Ended         ── Ended ──────────────────────────────▶
//! ```
//!
//! Every job of every member goes through these states once, in this order, and waits in Prepared and Finished for
//! the others, so that nobody's opening or verifying is work in another's measured part. A job that
//! fails or panics sends Ended without Verified; the conductor then ends the run. A job whose
//! completion mode is unavailable says so in Ready. Orders end when the conductor drops them, which
//! ends the jobs that still wait for one. A stop is no message but a flag ([`Stop`](crate::Stop)):
//! jobs go on to Finished without issuing anything more.

use crate::job_result::JobResult;
use joulio_job::{Availability, VerifyResult};
use joulio_nvme::Faults;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// Message of a job to the conductor.
#[derive(Serialize, Deserialize)]
pub(crate) enum JobMessage {
    /// Prepared, with the effective completion mode, or with why there is none.
    Ready(Availability),
    /// The measured part begins.
    Began,
    /// The measured part is over.
    Finished(Box<JobResult>),
    /// Verification is over, or there was none.
    Verified(Verified),
    /// The job's thread ends.
    #[serde(skip)]
    Ended,
}

/// End of a job: what its verification found, and what its devices did wrong until then.
#[derive(Serialize, Deserialize)]
pub(crate) struct Verified {
    pub(crate) checked: VerifyResult,
    /// Faults of the devices since the job began. A process has none: only the user-space driver
    /// counts them.
    #[serde(skip)]
    pub(crate) faults: Faults,
}

/// Order of the conductor to a job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum JobOrder {
    /// Start at this time, all jobs together.
    Start(Nanos),
    /// Read back what was written: all jobs have finished.
    Verify,
}
