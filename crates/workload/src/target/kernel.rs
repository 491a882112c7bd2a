//! A block device or a file that the kernel drives.

use super::{Activity, Target, Verdict};
use crate::engine::Traced;
use crate::process::wire;
use crate::worker::{Worker, WorkerError, failed};
use joulio_job::{Availability, CompletionMode, Counts, EngineName, Method};
use joulio_kernel_io::{
    self as kernel, Access, Blocks, Disk, Interface, IoUring, KernelCompletionMode, Libaio, Psync,
    Release, RingOptions, expect, judge,
};
use joulio_model::DeviceProfile;
use joulio_nvme::PowerControl;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// The deepest queue that is offered: what io_uring has at most (IORING_MAX_ENTRIES).
const MAX_DEPTH: usize = 32768;
/// More threads than that are a mistake.
const MAX_JOBS: usize = 256;
/// Bytes of an I/O where the disk sets no limit.
const MAX_IO: u32 = 1 << 30;

/// Whom to ask about a device's power.
type Control = Arc<dyn PowerControl + Send + Sync>;

/// A block device or a file.
pub struct KernelTarget {
    name: String,
    target: Arc<kernel::Target>,
    may_write: bool,
    ring: RingOptions,
    power: Option<Control>,
}

/// What another process of ours opens a target by, while this one has it open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Elsewhere {
    path: PathBuf,
    may_write: bool,
    #[serde(with = "wire::RingOptions")]
    ring: RingOptions,
}

impl Elsewhere {
    /// Opens it.
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
    /// What `name` names, open. `ring` is for io_uring.
    pub fn new(
        name: String,
        target: kernel::Target,
        may_write: bool,
        ring: RingOptions,
        power: Option<Control>,
    ) -> KernelTarget {
        KernelTarget {
            name,
            target: Arc::new(target),
            may_write,
            ring,
            power,
        }
    }

    /// Effective mode where `mode` is requested, as the disk is set now.
    fn expected(&self, interface: Interface, mode: KernelCompletionMode) -> kernel::Effective {
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

fn kernel_mode(mode: CompletionMode) -> Result<KernelCompletionMode, String> {
    Ok(match mode {
        CompletionMode::Poll => KernelCompletionMode::Poll,
        CompletionMode::Interrupt => KernelCompletionMode::Interrupt,
        CompletionMode::Hybrid => KernelCompletionMode::Hybrid,
        CompletionMode::HybridFixed(sleep) if sleep.0.is_multiple_of(1_000) => {
            let microseconds = u32::try_from(sleep.0 / 1_000).map_err(|_| "too long a sleep")?;
            KernelCompletionMode::HybridFixed(microseconds)
        }
        CompletionMode::HybridFixed(_) => {
            return Err("the kernel sleeps for whole microseconds".into());
        }
        CompletionMode::SqPoll => KernelCompletionMode::SqPoll,
        CompletionMode::SqPollPoll => KernelCompletionMode::SqPollPoll,
        mode => {
            return Err(format!(
                "{mode} is a completion mode of the user-space driver: --engine nvme"
            ));
        }
    })
}

impl Target for KernelTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> u64 {
        self.target.size()
    }

    fn block_size(&self) -> u32 {
        self.target.logical_block()
    }

    fn max_transfer(&self) -> u32 {
        // The kernel splits what is longer than the disk takes at once.
        MAX_IO
    }

    fn max_depth(&self, engine: EngineName) -> usize {
        match engine {
            EngineName::Nvme => 0,
            EngineName::Psync => 1,
            EngineName::Libaio | EngineName::IoUring => MAX_DEPTH,
        }
    }

    fn max_jobs(&self) -> usize {
        MAX_JOBS
    }

    fn may_write(&self) -> bool {
        self.may_write
    }

    fn profile(&self) -> Option<&DeviceProfile> {
        None
    }

    fn activity(&self) -> Activity {
        Activity::default()
    }

    fn threads(&self) -> Vec<i32> {
        Vec::new()
    }

    fn power(&self) -> Option<Control> {
        self.power.clone()
    }

    fn disk(&self) -> Option<&Disk> {
        self.target.disk()
    }

    fn poll_delay(&self, method: Method) -> Option<i64> {
        let (interface, mode) = (interface(method.engine)?, kernel_mode(method.mode).ok()?);
        match self.expected(interface, mode).reason? {
            kernel::Unavailable::Delay { wanted, .. } => Some(wanted),
            _ => None,
        }
    }

    fn judge(&self, method: Method, counts: &Counts) -> Verdict {
        let Ok(mode) = kernel_mode(method.mode) else {
            return Verdict::AsAsked;
        };
        let effective = judge(mode, counts.all.ios, counts.machine.device_interrupts);
        match effective.reason {
            None => Verdict::AsAsked,
            Some(reason) => Verdict::Other {
                got: effective.name,
                reason: reason.to_string(),
            },
        }
    }

    fn other_writer(&self) -> Option<&'static str> {
        self.target.other_writer()
    }

    fn elsewhere(&self) -> Option<Elsewhere> {
        Some(Elsewhere {
            path: self.target.path().into(),
            may_write: self.may_write,
            ring: self.ring,
        })
    }

    fn work(&self, method: Method, worker: Worker<'_>) -> Result<(), WorkerError> {
        let Some(interface) = interface(method.engine) else {
            let reason = "the user-space driver takes pcie:ADDRESS, after joulio bind";
            return worker.refuse(Availability::Unavailable(reason.into()));
        };
        let mode = match kernel_mode(method.mode) {
            Ok(mode) => mode,
            Err(reason) => return worker.refuse(Availability::Unavailable(reason)),
        };
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
