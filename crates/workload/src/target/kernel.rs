//! A block device or a file that the kernel drives.

use super::{Observed, Power, Target, TargetInfo, Verdict};
use crate::engine::Traced;
use crate::process::wire;
use crate::worker::{Worker, WorkerError, failed};
use joulio_job::{Availability, CompletionMode, Counts, EngineName, Method};
use joulio_kernel_io::{
    self as kernel, Access, Blocks, Interface, IoUring, Libaio, Psync, Release, RingOptions,
    expect, judge,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// Greatest queue depth: that of io_uring (IORING_MAX_ENTRIES).
const MAX_DEPTH: usize = 32768;
/// Most jobs: more threads are a mistake.
const MAX_JOBS: usize = 256;
/// Longest I/O in bytes.
const MAX_IO: u32 = 1 << 30;

/// A block device or a file.
pub struct KernelTarget {
    info: TargetInfo,
    target: Arc<kernel::Target>,
    ring: RingOptions,
    power: Option<Power>,
}

/// Description by which a job's process opens a target, while the run's process has it open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessTarget {
    path: PathBuf,
    may_write: bool,
    #[serde(with = "wire::RingOptions")]
    ring: RingOptions,
}

impl ProcessTarget {
    /// Opens the target.
    pub(crate) fn open(self) -> Result<KernelTarget, kernel::TargetError> {
        let access = match self.may_write {
            true => Access::Join,
            false => Access::Read,
        };
        let target = kernel::Target::open(&self.path, access)?;
        let name = self.path.display().to_string();
        Ok(KernelTarget::new(
            name,
            target,
            self.may_write,
            self.ring,
            None,
        ))
    }
}

impl KernelTarget {
    /// Takes the open target that `name` names; `ring` is for io_uring.
    pub fn new(
        name: String,
        target: kernel::Target,
        may_write: bool,
        ring: RingOptions,
        power: Option<Power>,
    ) -> KernelTarget {
        let info = TargetInfo {
            name,
            size: target.size(),
            block_size: target.logical_block(),
            // The kernel splits what is longer than the disk takes at once.
            max_transfer: MAX_IO,
            engines: vec![
                (EngineName::Psync, 1),
                (EngineName::Libaio, MAX_DEPTH),
                (EngineName::IoUring, MAX_DEPTH),
            ],
            max_jobs: MAX_JOBS,
            may_write,
            disk: target.disk().cloned(),
            profile: None,
        };
        KernelTarget {
            info,
            target: Arc::new(target),
            ring,
            power,
        }
    }

    /// Effective mode where `mode` is requested, as the disk is set now.
    fn expected(&self, interface: Interface, mode: CompletionMode) -> kernel::Effective {
        let (major, minor) = self.target.device();
        let disk = Blocks::at("/").disk(major, minor);
        let queue = disk.map(|disk| disk.queue).unwrap_or_default();
        expect(interface, mode, Release::running(), &queue)
    }

    fn run<E: kernel::KernelEngine + Traced>(
        &self,
        engine: Result<E, kernel::KernelEngineError>,
        worker: Worker<'_>,
    ) -> Result<(), WorkerError> {
        match engine {
            Ok(mut engine) => worker.run(&mut engine),
            Err(kernel::KernelEngineError::Missing { missing, .. }) => {
                worker.refuse(Availability::Unavailable(missing.to_string()))
            }
            Err(error) => Err(failed(error)),
        }
    }
}

/// Interface of the kernel that `engine` is; none for the user-space driver.
fn interface(engine: EngineName) -> Option<Interface> {
    match engine {
        EngineName::Nvme => None,
        EngineName::Psync => Some(Interface::Psync),
        EngineName::Libaio => Some(Interface::Libaio),
        EngineName::IoUring => Some(Interface::IoUring),
    }
}

/// Refuses a completion mode that no kernel has.
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
        | CompletionMode::SqPoll
        | CompletionMode::SqPollPoll => Ok(()),
        mode => Err(format!(
            "{mode} is a completion mode of the user-space driver: --engine nvme"
        )),
    }
}

impl Observed for KernelTarget {
    fn power(&self) -> Option<Power> {
        self.power.clone()
    }

    fn other_writer(&self) -> Option<&'static str> {
        self.target.other_writer()
    }
}

impl Target for KernelTarget {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn poll_delay(&self, method: Method) -> Option<i64> {
        match self
            .expected(interface(method.engine)?, method.mode)
            .reason?
        {
            kernel::Unavailable::Delay { wanted, .. } => Some(wanted),
            _ => None,
        }
    }

    fn judge(&self, method: Method, counts: &Counts) -> Verdict {
        let effective = judge(
            method.mode,
            counts.all.ios,
            counts.machine.device_interrupts,
        );
        match effective.reason {
            None => Verdict::AsRequested,
            Some(reason) => Verdict::Other {
                effective: effective.name,
                reason: reason.to_string(),
            },
        }
    }

    fn for_process(&self) -> Option<ProcessTarget> {
        Some(ProcessTarget {
            path: self.target.path().into(),
            may_write: self.info.may_write,
            ring: self.ring,
        })
    }

    fn work(&self, method: Method, worker: Worker<'_>) -> Result<(), WorkerError> {
        let Some(interface) = interface(method.engine) else {
            let reason = "the user-space driver takes pcie:ADDRESS, after joulio bind";
            return worker.refuse(Availability::Unavailable(reason.into()));
        };
        let mode = method.mode;
        if let Err(reason) = check(mode) {
            return worker.refuse(Availability::Unavailable(reason));
        }
        let expected = self.expected(interface, mode);
        if let Some(reason) = expected.reason {
            return worker.refuse(Availability::Unavailable(reason.to_string()));
        }
        let (target, depth) = (Arc::clone(&self.target), worker.depth());
        match interface {
            Interface::Psync => self.run(Psync::new(target, depth, mode), worker),
            Interface::Libaio => self.run(Libaio::new(target, depth, mode), worker),
            Interface::IoUring => {
                let ring = IoUring::new(target, depth, mode, self.ring);
                self.run(ring, worker)
            }
        }
    }
}
