//! Errors of a run.

use crate::worker_error::WorkerError;
use joulio_job::JobError;

/// Error of a run that has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The job does not fit the device.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A job failed.
    #[error("{0}")]
    Worker(#[from] WorkerError),
    /// The system has no threads to read the meters.
    #[error("meters: {0}")]
    Meters(std::io::Error),
    /// The system has no more threads for the jobs.
    #[error("no thread for a job: {0}: lower --numjobs, or raise ulimit -u")]
    Threads(std::io::Error),
    /// A job's thread panicked.
    #[error("a job ended unexpectedly; this is a bug of joulio")]
    Panicked,
}
