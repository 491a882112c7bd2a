//! A namespace that the user-space driver drives.

use super::{
    ModeVerdict, ObservedTarget, OperationError, PowerHandle, Target, TargetActivity, TargetInfo,
};
use crate::engine::{NvmeEngine, Split};
use crate::worker::Worker;
use crate::worker_error::{WorkerError, failed};
use joulio_device::Device;
use joulio_job::{Availability, Counts, EngineName, Method, WaitCounters};
use joulio_model::DeviceProfile;
use joulio_nvme::wait::{StepKind, Waiter};
use joulio_nvme::{Controller, Namespace, NvmeError};
use joulio_units::Operation;
use std::any::Any;
use std::sync::Arc;

/// Facts that an emulated device reports and a real one does not.
pub struct EmulatedInfo<D> {
    /// Profile that the device follows.
    pub profile: DeviceProfile,
    /// Function that returns the activity of the device so far.
    pub activity: fn(&D) -> TargetActivity,
    /// Function that returns the identifier of the device's thread.
    pub thread: fn(&D) -> Option<i32>,
}

/// A namespace behind the user-space driver.
pub struct NvmeTarget<D: Device> {
    info: TargetInfo,
    controller: Arc<Controller<D>>,
    namespace: Namespace,
    activity: Option<fn(&D) -> TargetActivity>,
    thread: Option<fn(&D) -> Option<i32>>,
}

impl<D: Device> NvmeTarget<D> {
    /// Returns a target on namespace `nsid` of `controller`; `emulated` is set for emulated devices.
    ///
    /// # Errors
    /// The namespace does not exist, or the driver cannot use it.
    pub fn new(
        name: String,
        controller: Controller<D>,
        nsid: u32,
        may_write: bool,
        emulated: Option<EmulatedInfo<D>>,
    ) -> Result<NvmeTarget<D>, NvmeError> {
        let namespace = controller.namespace(nsid)?;
        let (activity, thread) = (
            emulated.as_ref().map(|emulated| emulated.activity),
            emulated.as_ref().map(|emulated| emulated.thread),
        );
        let info = TargetInfo {
            name,
            size: namespace.size(),
            block_size: namespace.block_size(),
            weighted: controller.is_weighted(),
            max_transfer: controller.max_transfer(),
            engines: vec![(EngineName::Nvme, controller.max_depth())],
            max_jobs: controller.max_queues(),
            may_write,
            holds_data: true,
            disk: None,
            numa_node: controller.device().numa_node(),
            iommu: controller.device().has_iommu(),
            profile: emulated.map(|emulated| emulated.profile),
        };
        Ok(NvmeTarget {
            info,
            controller: Arc::new(controller),
            namespace,
            activity,
            thread,
        })
    }

    /// Sets that the target had no data when it was opened.
    pub fn without_data(mut self) -> NvmeTarget<D> {
        self.info.holds_data = false;
        self
    }
}

impl<D: Device + 'static> ObservedTarget for NvmeTarget<D> {
    fn activity(&self) -> TargetActivity {
        let activity = self.activity;
        activity.map_or_else(TargetActivity::default, |of| of(self.controller.device()))
    }

    fn threads(&self) -> Vec<i32> {
        let thread = self.thread.and_then(|of| of(self.controller.device()));
        thread.into_iter().collect()
    }

    fn power(&self) -> Option<PowerHandle> {
        let controller = Arc::clone(&self.controller);
        Some(controller)
    }

    fn lost_features(&self) -> Vec<String> {
        self.controller.lost_features()
    }
}

impl<D: Device + 'static> Target for NvmeTarget<D> {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn can(&self, _: EngineName, operation: Operation) -> Result<(), OperationError> {
        let able = self.namespace.attributes().deallocate;
        match operation {
            Operation::Trim if !able => Err(OperationError::NoTrims),
            _ => Ok(()),
        }
    }

    fn joins(&self, other: &dyn Target) -> bool {
        (other as &dyn Any).is::<Self>()
    }

    fn work(
        &self,
        targets: &[&dyn Target],
        method: Method,
        worker: Worker<'_>,
    ) -> Result<(), WorkerError> {
        // User interrupts are available only after a thread has been given them.
        let steps = Waiter::new().can().without(StepKind::UserInterrupt);
        let policies = targets.iter().map(|_| worker.policy(method.mode, steps));
        let Some(policies) = policies.collect::<Option<Vec<_>>>() else {
            let reason = format!(
                "{} is a completion mode of the kernel: --engine io_uring",
                method.mode
            );
            return worker.refuse(Availability::Unavailable(reason));
        };
        let own = targets.iter().map(|target| {
            let target = (*target as &dyn Any).downcast_ref::<Self>();
            target.expect("joined, as `check` demands")
        });
        let places = own.map(|own| (Arc::clone(&own.controller), own.namespace));
        let places = places.zip(policies).collect();
        // If the devices differ, no part is larger than the smallest of their largest transfers.
        let infos = targets.iter().map(|target| target.info());
        let part = infos.clone().map(|info| info.max_transfer).min();
        let part = part.unwrap_or(u32::MAX);
        let longest = worker.longest();
        let parts = longest.div_ceil(part.into()).max(1);
        let deepest = infos.map(|info| info.max_depth(method.engine)).min();
        let depth = worker.depth().saturating_mul(parts as usize);
        let depth = depth.min(deepest.unwrap_or(depth));
        let engine = NvmeEngine::new(places, worker.queue_priority(), depth);
        match engine.map_err(failed)? {
            Ok(mut engine) if parts == 1 => worker.run(&mut engine),
            Ok(engine) => {
                let requests = (worker.depth(), targets.len());
                worker.run(&mut Split::new(engine, (depth, part), longest, requests))
            }
            Err(reason) => worker.refuse(Availability::Unavailable(reason.to_string())),
        }
    }

    fn judge(&self, method: Method, counts: &Counts) -> ModeVerdict {
        judge(method, &counts.wait)
    }
}

/// Judges the completion mode. The driver waits as requested, or fails; but it may lose its user interrupts.
fn judge(method: Method, wait: &WaitCounters) -> ModeVerdict {
    let WaitCounters {
        lost_bindings: lost @ 1..,
        rebindings,
        user_interrupts,
        interrupts,
        ..
    } = *wait
    else {
        return ModeVerdict::AsRequested;
    };
    ModeVerdict::Other {
        effective: format!("{} in part", method.mode),
        reason: format!(
            "user interrupts were taken away from the thread {lost} times and bound again \
             {rebindings} times: {user_interrupts} came to it, {interrupts} to the kernel. Its CPU \
             went offline, or the thread or the interrupt was moved to another (dmesg); keep both \
             where they are during a run"
        ),
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
        assert_eq!(judge(method, &wait), ModeVerdict::AsRequested);
        (wait.lost_bindings, wait.rebindings) = (1, 1);
        let ModeVerdict::Other { effective, reason } = judge(method, &wait) else {
            panic!("as requested");
        };
        assert_eq!(effective, "uintr in part");
        for part in ["taken away from the thread 1 times", "4486", "3514"] {
            assert!(reason.contains(part), "{part}: {reason}");
        }
    }
}
