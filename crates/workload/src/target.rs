//! Targets of a workload: their description ([`TargetInfo`]), observations of them during I/O ([`ObservedTarget`]),
//! and jobs on them ([`Target`]).

mod info;
mod kernel;
mod nvme;
mod observed;
mod operation_error;
mod process_target;
mod verdict;

pub use info::TargetInfo;
pub use kernel::KernelTarget;
pub use nvme::{EmulatedInfo, NvmeTarget};
pub use observed::{ObservedTarget, PowerHandle, TargetActivity};
pub use operation_error::OperationError;
pub use process_target::ProcessTarget;
pub use verdict::ModeVerdict;

use crate::worker::Worker;
use crate::worker_error::WorkerError;
use joulio_job::{Counts, EngineName, Method};
use joulio_units::Operation;
use std::any::Any;

/// A device or file that jobs run on.
pub trait Target: ObservedTarget + Any + Send + Sync {
    /// Returns the description of the target.
    fn info(&self) -> &TargetInfo;

    /// Returns the queue/io_poll_delay of the disk that `method` needs, if the disk has another.
    fn poll_delay(&self, _method: Method) -> Option<i64> {
        None
    }

    /// Returns the description with which a job's process opens the target; `None` if its queues belong to this
    /// process.
    fn for_process(&self) -> Option<ProcessTarget> {
        None
    }

    /// Checks that `engine` can execute `operation`, if data on the target may be overwritten.
    ///
    /// # Errors
    /// [`OperationError`], with the reason why it cannot.
    fn can(&self, _engine: EngineName, _operation: Operation) -> Result<(), OperationError> {
        Ok(())
    }

    /// Returns true if one job can wait for this target and `other` together.
    fn joins(&self, _other: &dyn Target) -> bool {
        false
    }

    /// Runs one job with `method` on `targets`, which are all of the job's: this one, and those that it can be
    /// joined with.
    ///
    /// # Errors
    /// The device, the engine or the job's thread failed. An unavailable completion mode is not an error: the job
    /// reports it to the conductor.
    fn work(
        &self,
        targets: &[&dyn Target],
        method: Method,
        worker: Worker<'_>,
    ) -> Result<(), WorkerError>;

    /// Judges whether `method` was effective, by the counts of a run.
    fn judge(&self, method: Method, counts: &Counts) -> ModeVerdict;
}
