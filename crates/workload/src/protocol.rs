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
//! Every job of every member goes through these states once, in this order. It waits for the others in Prepared and
//! in Finished, so that no job prepares or verifies while another is measured. A job that fails or panics sends
//! Ended without Verified; the conductor then ends the run. A job whose completion mode is unavailable reports that
//! in Ready. When the conductor drops its senders of orders, the jobs that wait for an order end. A stop is not a
//! message but a flag ([`Stop`](crate::Stop)): the jobs go on to Finished without issuing more I/O.

use crate::job_result::JobResult;
use joulio_job::{Availability, VerifyResult};
use joulio_nvme::Faults;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// Message of a job to the conductor.
#[derive(Serialize, Deserialize)]
pub(crate) enum JobMessage {
    /// The job is prepared; has the effective completion mode, or the reason why it is unavailable.
    Ready(Availability),
    /// The measured part begins.
    Began,
    /// The measured part is over.
    Finished(Box<JobResult>),
    /// Verification is over, or was not requested.
    Verified(Verified),
    /// The job's thread ends.
    #[serde(skip)]
    Ended,
}

/// End of a job: the result of its verification, and the faults of its devices until then.
#[derive(Serialize, Deserialize)]
pub(crate) struct Verified {
    pub(crate) checked: VerifyResult,
    /// Faults of the devices since the job began. A job in a process of its own has none, since only the user-space
    /// driver counts them.
    #[serde(skip)]
    pub(crate) faults: Faults,
}

/// Order of the conductor to a job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum JobOrder {
    /// Start the I/Os at this time, as all jobs do.
    Start(Nanos),
    /// Verify the written data: all jobs have finished.
    Verify,
}
