//! Jobs as processes, each of which opens its device and counters itself.
//!
//! A job's thread stays in the run and becomes a relay: it starts this program again with [`COMMAND`], passes the
//! job to it, and then passes messages both ways, so that the conductor sees no difference. CPU time, context
//! switches and counters are those of the process.

mod relay;
mod tenant;
pub(crate) mod wire;

pub(crate) use relay::relay;
pub use tenant::{NoJob, tenant};

use joulio_job::{Job, JobKind};
use joulio_units::Nanos;
use std::io;
use std::process::ExitStatus;

/// The subcommand of this program that runs [`tenant`] on its standard input and output.
pub const COMMAND: &str = "job-process";

/// Time between two reports of the I/Os that a job's process has done.
pub(crate) const REPORT_INTERVAL: Nanos = Nanos::from_millis(100);

/// Returns how long before the start the `jobs` are told its time, so that all are ready in time.
pub(crate) fn head_start<'a>(jobs: impl Iterator<Item = &'a Job>) -> Nanos {
    let relayed = jobs.map(|job| match job.kind {
        JobKind::Thread => 0,
        JobKind::Process => 100 * job.numjobs as u64,
    });
    Nanos::from_micros(1_000 + relayed.sum::<u64>())
}

/// Failure of a job's process.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The process could not be started.
    #[error(
        "job {job}: no process could be started: {source}: lower --numjobs, or raise ulimit -u"
    )]
    Start {
        /// The job.
        job: usize,
        /// Error of the system.
        source: io::Error,
    },
    /// The process ended without a message.
    #[error("job {job}: its process {pid} ended before its work: {status}")]
    Ended {
        /// The job.
        job: usize,
        /// The process.
        pid: u32,
        /// Exit status of the process.
        status: ExitStatus,
    },
    /// The process sent an invalid message.
    #[error("job {job}: its process {pid} sent an invalid message: {reason}")]
    Garbled {
        /// The job.
        job: usize,
        /// The process.
        pid: u32,
        /// Reason.
        reason: String,
    },
    /// The job failed in its process.
    #[error("{0}")]
    Failed(String),
}
