//! Where a workload runs.

use crate::engine::NvmeEngine;
use crate::looped::{Worker, WorkerError};
use crate::quantity::parse_time;
use joulio_device::Device;
use joulio_model::{DeviceProfile, Transfer};
use joulio_nvme::wait::{AnyPolicy, Hybrid, Policy};
use joulio_nvme::{Controller, Namespace, NvmeError, PowerControl};
use joulio_units::{Joules, Nanos};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A way of waiting, as `--completion` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Spin until the completion is there.
    Poll,
    /// Block until the device raises an interrupt.
    Interrupt,
    /// Sleep for half the mean time, learnt, then spin.
    Hybrid,
    /// Sleep for a fixed time, then spin.
    HybridFixed(Nanos),
}

impl Way {
    /// Every way without a parameter, in the order of a default run.
    pub const ALL: [Way; 3] = [Way::Poll, Way::Interrupt, Way::Hybrid];

    /// A fresh policy for a queue.
    pub fn policy(self) -> AnyPolicy {
        match self {
            Way::Poll => AnyPolicy::POLL,
            Way::Interrupt => AnyPolicy::INTERRUPT,
            Way::Hybrid => AnyPolicy::Hybrid(Hybrid::automatic()),
            Way::HybridFixed(sleep) => AnyPolicy::Hybrid(Hybrid::fixed(sleep)),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.policy().name())
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Way, String> {
        if let Some(sleep) = text.strip_prefix("hybrid=") {
            return match parse_time(sleep, 1_000)? {
                0 => Err("hybrid=0: a sleep is above zero; poll is the way without one".into()),
                sleep => Ok(Way::HybridFixed(Nanos(sleep))),
            };
        }
        let known = Way::ALL.iter().find(|way| way.to_string() == text);
        known.copied().ok_or_else(|| {
            format!("'{text}' is not a way of waiting: poll, interrupt, hybrid, hybrid=4us")
        })
    }
}

/// The way of waiting that a job got.
pub enum Obtained {
    /// This one.
    Yes(String),
    /// None, and why.
    No(String),
}

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
    /// The most I/Os in flight of a job.
    fn max_depth(&self) -> usize;
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
    /// Runs one job on it with `way`.
    fn work(&self, way: Way, worker: Worker<'_>) -> Result<(), WorkerError>;
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

    fn max_depth(&self) -> usize {
        self.controller.max_depth()
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

    fn work(&self, way: Way, worker: Worker<'_>) -> Result<(), WorkerError> {
        let controller = Arc::clone(&self.controller);
        let depth = worker.job.iodepth;
        match NvmeEngine::new(controller, self.namespace, depth, way.policy())? {
            Ok(mut engine) => {
                let obtained = Obtained::Yes(engine.obtained());
                worker.run(&mut engine, obtained)
            }
            Err(reason) => worker.refuse(Obtained::No(reason.to_string())),
        }
    }
}
