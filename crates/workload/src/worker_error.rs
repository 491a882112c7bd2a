//! Errors of a job.

use crate::engine::{EngineError, RequestError};
use crate::process::ProcessError;
use joulio_kernel_io::DirectFileError;

/// Error of a job that ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The device, the driver or the kernel failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The blocks that reads verify could not be written.
    #[error("writing the blocks to be verified failed: {0}")]
    Layout(RequestError),
    /// The thread could not be bound to its CPU.
    #[error("--cpus_allowed: CPU {cpu}: {reason}")]
    Cpu {
        /// The CPU.
        cpu: usize,
        /// Error of the kernel.
        reason: String,
    },
    /// The thread's memory could not be allocated on a NUMA node.
    #[error("--numa {node}: {error}")]
    Numa {
        /// The node.
        node: u32,
        /// Error of the kernel.
        error: std::io::Error,
    },
    /// The device or file that the job's process opens could not be opened.
    #[error(transparent)]
    File(#[from] DirectFileError),
    /// The job's process failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The job was stopped in a pass over its blocks, and the device did not end the I/Os in flight.
    #[error("stopped, with {requests} I/Os in flight that the device did not end")]
    Unfinished {
        /// Number of I/Os.
        requests: usize,
    },
    /// The job did not start, because another one could not.
    #[error("not started")]
    NotStarted,
}

/// Returns the error of an engine as that of a job.
pub(crate) fn failed(error: impl Into<EngineError>) -> WorkerError {
    WorkerError::Engine(error.into())
}
