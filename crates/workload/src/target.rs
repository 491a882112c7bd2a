//! Targets of a workload: description of a target ([`TargetInfo`]), observations beside its I/O ([`ObservedTarget`]),
//! and running a job on it ([`Target`]).

mod info;
mod kernel;
mod nvme;
mod observed;
mod process_target;
mod verdict;

pub use info::TargetInfo;
pub use kernel::KernelTarget;
pub use nvme::{EmulatedInfo, NvmeTarget};
pub use observed::{ObservedTarget, PowerHandle, TargetActivity};
pub use process_target::ProcessTarget;
pub use verdict::ModeVerdict;

use crate::worker::Worker;
use crate::worker_error::WorkerError;
use joulio_job::{Counts, EngineName, Method};
use joulio_units::Operation;
use std::any::Any;

/// A device or file that jobs run on.
pub trait Target: ObservedTarget + Any + Send + Sync {
    /// Facts about the target.
    fn info(&self) -> &TargetInfo;

    /// queue/io_poll_delay that `method` needs of the disk, where the disk has another.
    fn poll_delay(&self, _method: Method) -> Option<i64> {
        None
    }

    /// Description by which a job's process opens the target; none when its queues belong to this
    /// process.
    fn for_process(&self) -> Option<ProcessTarget> {
        None
    }

    /// Checks that `engine` can do `operation` on the target, where data may be lost.
    ///
    /// # Errors
    /// The reason why it cannot.
    fn can(&self, _engine: EngineName, _operation: Operation) -> Result<(), String> {
        Ok(())
    }

    /// Reports whether one job can wait for this target and `other` together.
    fn joins(&self, _other: &dyn Target) -> bool {
        false
    }

    /// Runs one job by `method` on `targets`, all of the job's: this one, and those that it joins.
    ///
    /// # Errors
    /// The device, the engine or the job's thread failed. A completion mode that is unavailable is
    /// no error: the job reports it.
    fn work(
        &self,
        targets: &[&dyn Target],
        method: Method,
        worker: Worker<'_>,
    ) -> Result<(), WorkerError>;

    /// Judges by the counts during a run's I/Os whether `method` was effective.
    fn judge(&self, method: Method, counts: &Counts) -> ModeVerdict;
}
