//! A block device or a file that the kernel drives.

use super::process_target::ProcessTarget;
use super::{ModeVerdict, ObservedTarget, OperationError, PowerHandle, Target, TargetInfo};
use crate::worker::Worker;
use crate::worker_error::{WorkerError, failed};
use joulio_job::{Availability, CompletionMode, Counts, EngineName, MAX_IO, Method};
use joulio_kernel_io::{
    self as kernel, Access, Blocks, EngineUser, KernelEngine, Missing, Release, expect, judge,
};
use joulio_nvme::wait::{AnyPolicy, StepSet};
use joulio_units::Operation;
use std::sync::Arc;

/// Largest number of jobs; more threads would be a mistake.
const MAX_JOBS: usize = 256;

/// A block device or a file.
pub struct KernelTarget {
    info: TargetInfo,
    file: Arc<kernel::DirectFile>,
    power: Option<PowerHandle>,
}

/// Returns the NUMA node of a disk's only NVMe controller, from sysfs, where -1 means none.
fn numa_node(disk: &kernel::Disk) -> Option<u32> {
    let [controller] = disk.controllers.as_slice() else {
        return None;
    };
    let path = format!("/sys/class/nvme/{controller}/numa_node");
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

impl KernelTarget {
    /// Opens the target in a job's process, while the run's process has it open.
    pub(crate) fn of_process(
        target: ProcessTarget,
    ) -> Result<KernelTarget, kernel::DirectFileError> {
        let ProcessTarget { path, may_write } = target;
        let access = match may_write {
            true => Access::Join,
            false => Access::Read,
        };
        let opened = kernel::DirectFile::open(&path, access)?;
        let name = path.display().to_string();
        Ok(KernelTarget::new(name, opened, may_write, None))
    }

    /// Returns the target for an open file; `name` is the user's name for it.
    pub fn new(
        name: String,
        file: kernel::DirectFile,
        may_write: bool,
        power: Option<PowerHandle>,
    ) -> KernelTarget {
        let info = TargetInfo {
            name,
            size: file.size(),
            block_size: file.logical_block(),
            // The kernel splits I/Os that are longer than the disk's largest transfer.
            weighted: false,
            max_transfer: MAX_IO,
            engines: kernel::ENGINES.to_vec(),
            max_jobs: MAX_JOBS,
            may_write,
            holds_data: true,
            numa_node: file.disk().and_then(numa_node),
            disk: file.disk().cloned(),
            iommu: None,
            profile: None,
        };
        KernelTarget {
            info,
            file: Arc::new(file),
            power,
        }
    }

    /// Returns the effective mode if `mode` is requested, by the present settings of the disk.
    fn expected(&self, engine: EngineName, mode: CompletionMode) -> kernel::Effective {
        let (major, minor) = self.file.device();
        let disk = Blocks::at("/").disk(major, minor);
        let queue = disk.map(|disk| disk.queue).unwrap_or_default();
        expect(engine, mode, Release::running(), &queue)
    }
}

impl EngineUser for Worker<'_> {
    type Output = Result<(), WorkerError>;

    fn policy(&self, mode: CompletionMode, steps: StepSet) -> Option<AnyPolicy> {
        Worker::policy(self, mode, steps)
    }

    fn run<E: KernelEngine>(self, engine: Result<E, kernel::KernelEngineError>) -> Self::Output {
        match engine {
            Ok(mut engine) => Worker::run(self, &mut engine),
            Err(kernel::KernelEngineError::Missing { missing, .. }) => {
                self.refuse(Availability::Unavailable(missing.to_string()))
            }
            Err(error) => Err(failed(error)),
        }
    }
}

/// Refuses completion modes that no kernel has.
fn check(mode: CompletionMode) -> Result<(), String> {
    match mode {
        CompletionMode::HybridFixed(sleep) if !sleep.0.is_multiple_of(1_000) => {
            Err("the kernel sleeps for whole microseconds".into())
        }
        CompletionMode::HybridFixed(sleep) if u32::try_from(sleep.0 / 1_000).is_err() => {
            Err("too long a sleep".into())
        }
        CompletionMode::Poll
        | CompletionMode::Interrupt
        | CompletionMode::Hybrid
        | CompletionMode::HybridFixed(_)
        | CompletionMode::Adaptive
        | CompletionMode::SqPoll
        | CompletionMode::SqPollPoll => Ok(()),
        mode => Err(format!(
            "{mode} is a completion mode of the user-space driver: --engine nvme"
        )),
    }
}

impl ObservedTarget for KernelTarget {
    fn power(&self) -> Option<PowerHandle> {
        self.power.clone()
    }

    fn other_writer(&self) -> Option<String> {
        self.file.other_writer()
    }
}

impl Target for KernelTarget {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn poll_delay(&self, method: Method) -> Option<i64> {
        match self.expected(method.engine, method.mode).reason? {
            kernel::Unavailable::Delay { wanted, .. } => Some(wanted),
            _ => None,
        }
    }

    fn judge(&self, method: Method, counts: &Counts) -> ModeVerdict {
        let effective = judge(
            method.mode,
            counts.all.ios,
            counts.machine.device_interrupts,
        );
        match effective.reason {
            None => ModeVerdict::AsRequested,
            Some(reason) => ModeVerdict::Other {
                effective: effective.name,
                reason: reason.to_string(),
            },
        }
    }

    fn can(&self, engine: EngineName, operation: Operation) -> Result<(), OperationError> {
        let able = kernel::check_operation(engine, operation, &self.file, Release::running());
        Ok(able?)
    }

    fn for_process(&self) -> Option<ProcessTarget> {
        Some(ProcessTarget {
            path: self.file.path().into(),
            may_write: self.info.may_write,
        })
    }

    fn work(
        &self,
        _: &[&dyn Target],
        method: Method,
        worker: Worker<'_>,
    ) -> Result<(), WorkerError> {
        let Method { engine, mode } = method;
        if !engine.is_kernel() {
            let reason = Missing::NotTheKernels.to_string();
            return worker.refuse(Availability::Unavailable(reason));
        }
        if let Err(reason) = check(mode) {
            return worker.refuse(Availability::Unavailable(reason));
        }
        if mode.polls_device() && worker.job.has_dataless() {
            let reason = "the kernel polls for reads and writes alone, not for trims and flushes: --completion interrupt";
            return worker.refuse(Availability::Unavailable(reason.into()));
        }
        let expected = self.expected(engine, mode);
        if let Some(reason) = expected.reason {
            return worker.refuse(Availability::Unavailable(reason.to_string()));
        }
        let max = self.file.disk().and_then(|disk| disk.queue.max_transfer);
        if engine == EngineName::IoUringCmd && max.is_some_and(|max| worker.longest() > max.into())
        {
            let reason = format!(
                "nothing splits a command, and the device takes {} KiB at once: a smaller --bs, or --engine io_uring",
                max.unwrap_or(0) / 1024
            );
            return worker.refuse(Availability::Unavailable(reason));
        }
        let (file, depth, ring) = (Arc::clone(&self.file), worker.depth(), worker.ring);
        kernel::open(method, file, depth, ring, worker)
    }
}
