//! Where a workload runs.

mod kernel;

pub use kernel::{Elsewhere, KernelTarget};

use crate::engine::NvmeEngine;
use crate::worker::{Worker, WorkerError, failed};
use joulio_device::Device;
use joulio_job::{Availability, Counts, EngineName, Method, WaitCounters};
use joulio_kernel_io::Disk;
use joulio_model::{DeviceProfile, Transfer};
use joulio_nvme::{Controller, Namespace, NvmeError, PowerControl};
use joulio_units::Joules;
use std::sync::Arc;

/// What a device did, as far as it tells.
#[derive(Clone, Copy, Debug, Default)]
pub struct Activity {
    /// Reads since it was opened.
    pub read: Transfer,
    /// Writes since it was opened.
    pub write: Transfer,
    /// What it would have drawn without any I/O since it was opened, if it tells.
    pub idle: Option<Joules>,
}

/// A device with a namespace to run on.
pub trait Target: Send + Sync {
    /// As the user named it.
    fn name(&self) -> &str;
    /// Bytes.
    fn size(&self) -> u64;
    /// Bytes of a logical block.
    fn block_size(&self) -> u32;
    /// The most bytes of an I/O.
    fn max_transfer(&self) -> u32;
    /// The most I/Os in flight of a job of that engine; zero: it has no such engine.
    fn max_depth(&self, engine: EngineName) -> usize;
    /// Jobs that can run on it at once.
    fn max_jobs(&self) -> usize;
    /// Whether data on it may be overwritten.
    fn may_write(&self) -> bool;
    /// The profile that models it, if one does.
    fn profile(&self) -> Option<&DeviceProfile>;
    /// What it did so far, if it tells.
    fn activity(&self) -> Activity;
    /// The threads of this process that are the device.
    fn threads(&self) -> Vec<i32>;
    /// Whom to ask about its power, if it can be asked.
    fn power(&self) -> Option<Arc<dyn PowerControl + Send + Sync>>;
    /// The disk that it is, or is on, for the kernel's counters; none for what the kernel does not
    /// know.
    fn disk(&self) -> Option<&Disk>;
    /// The queue/io_poll_delay that `method` needs of its disk, and the disk has not.
    fn poll_delay(&self, _: Method) -> Option<i64> {
        None
    }

    /// The features of its controller that were set, that a reset took, and that could not be set
    /// again.
    fn lost_features(&self) -> Vec<String> {
        Vec::new()
    }

    /// What a run in `method` turns out to have been, by what was counted during its I/Os.
    fn judge(&self, method: Method, counts: &Counts) -> Verdict;
    /// Who else may be writing to it, where that is known: the cause of data that nobody here wrote.
    fn other_writer(&self) -> Option<&'static str> {
        None
    }

    /// What a process of ours opens it by; None: its queues belong to this one.
    fn elsewhere(&self) -> Option<Elsewhere>;
    /// Runs one job on it with `method`.
    fn work(&self, method: Method, worker: Worker<'_>) -> Result<(), WorkerError>;
}

/// Whether a run was what it was asked to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was.
    AsAsked,
    /// It was this, for a reason.
    Other {
        /// The way of waiting that it had.
        got: String,
        /// Why.
        reason: String,
    },
}

/// The driver waits as it is asked to, or fails; but user interrupts can be taken away from it.
fn judge(method: Method, wait: &WaitCounters) -> Verdict {
    let WaitCounters {
        lost_bindings: lost @ 1..,
        rebindings,
        user_interrupts,
        interrupts,
        ..
    } = *wait
    else {
        return Verdict::AsAsked;
    };
    Verdict::Other {
        got: format!("{} in part", method.mode),
        reason: format!(
            "user interrupts were taken away from the thread {lost} times and bound again \
             {rebindings} times: {user_interrupts} came to it, {interrupts} to the kernel. Its CPU \
             went offline, or the thread or the interrupt was moved to another (dmesg); keep both \
             where they are during a run"
        ),
    }
}

/// What an emulated device tells of itself, and a real one does not.
pub struct Inside<D> {
    /// The profile that it follows.
    pub profile: DeviceProfile,
    /// What it did so far.
    pub activity: fn(&D) -> Activity,
    /// The thread that is the device.
    pub thread: fn(&D) -> Option<i32>,
}

/// A namespace behind the user-space driver.
pub struct NvmeTarget<D: Device> {
    name: String,
    controller: Arc<Controller<D>>,
    namespace: Namespace,
    may_write: bool,
    inside: Option<Inside<D>>,
}

impl<D: Device> NvmeTarget<D> {
    /// Namespace `nsid` of `controller`. `inside` is for emulated devices.
    pub fn new(
        name: String,
        controller: Controller<D>,
        nsid: u32,
        may_write: bool,
        inside: Option<Inside<D>>,
    ) -> Result<NvmeTarget<D>, NvmeError> {
        let namespace = controller.namespace(nsid)?;
        Ok(NvmeTarget {
            name,
            controller: Arc::new(controller),
            namespace,
            may_write,
            inside,
        })
    }
}

impl<D: Device + 'static> Target for NvmeTarget<D> {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> u64 {
        self.namespace.size()
    }

    fn block_size(&self) -> u32 {
        self.namespace.block_size()
    }

    fn max_transfer(&self) -> u32 {
        self.controller.max_transfer()
    }

    fn max_depth(&self, engine: EngineName) -> usize {
        match engine {
            EngineName::Nvme => self.controller.max_depth(),
            _ => 0,
        }
    }

    fn max_jobs(&self) -> usize {
        self.controller.max_queues()
    }

    fn may_write(&self) -> bool {
        self.may_write
    }

    fn profile(&self) -> Option<&DeviceProfile> {
        self.inside.as_ref().map(|inside| &inside.profile)
    }

    fn activity(&self) -> Activity {
        let inside = self.inside.as_ref();
        inside.map_or_else(Activity::default, |inside| {
            (inside.activity)(self.controller.device())
        })
    }

    fn threads(&self) -> Vec<i32> {
        let inside = self.inside.as_ref();
        inside
            .and_then(|inside| (inside.thread)(self.controller.device()))
            .into_iter()
            .collect()
    }

    fn power(&self) -> Option<Arc<dyn PowerControl + Send + Sync>> {
        let controller = Arc::clone(&self.controller);
        Some(controller)
    }

    fn disk(&self) -> Option<&Disk> {
        None
    }

    fn lost_features(&self) -> Vec<String> {
        self.controller.lost_features()
    }

    fn judge(&self, method: Method, counts: &Counts) -> Verdict {
        judge(method, &counts.wait)
    }

    fn elsewhere(&self) -> Option<Elsewhere> {
        None
    }

    fn work(&self, method: Method, worker: Worker<'_>) -> Result<(), WorkerError> {
        let Some(policy) = method.mode.policy() else {
            let reason = format!(
                "{} is a completion mode of the kernel: --engine io_uring",
                method.mode
            );
            return worker.refuse(Availability::Unavailable(reason));
        };
        let controller = Arc::clone(&self.controller);
        let depth = worker.depth();
        let engine = NvmeEngine::new(controller, self.namespace, depth, policy);
        match engine.map_err(failed)? {
            Ok(mut engine) => worker.run(&mut engine),
            Err(reason) => worker.refuse(Availability::Unavailable(reason.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_lost_its_user_interrupts_was_uintr_in_part() {
        let method = Method {
            engine: EngineName::Nvme,
            mode: "uintr".parse().unwrap(),
        };
        let mut wait = WaitCounters {
            user_interrupts: 4_486,
            interrupts: 3_514,
            ..WaitCounters::default()
        };
        assert_eq!(judge(method, &wait), Verdict::AsAsked);
        (wait.lost_bindings, wait.rebindings) = (1, 1);
        let Verdict::Other { got, reason } = judge(method, &wait) else {
            panic!("as asked");
        };
        assert_eq!(got, "uintr in part");
        for told in ["taken away from the thread 1 times", "4486", "3514"] {
            assert!(reason.contains(told), "{told}: {reason}");
        }
    }
}
