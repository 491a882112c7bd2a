//! Description of a queue pair, for messages and claims.

use super::QueuePair;
use joulio_device::Device;
use joulio_nvme_spec::QueueId;
use joulio_wait::AnyPolicy;

/// Description of a queue pair.
#[derive(Clone, Copy)]
pub struct QueueInfo<'a> {
    /// QID.
    pub id: QueueId,
    /// Largest number of outstanding commands.
    pub depth: usize,
    /// Size of the pair in host memory in bytes, data buffers aside.
    pub memory: usize,
    /// Name of the device.
    pub device_name: &'a str,
    /// Policy by which the queue is waited for.
    pub policy: &'a AnyPolicy,
    /// True if completions that are found without a block raise no interrupt: the vector is masked with a store, and
    /// the policy blocks, but not always.
    pub masks_between_blocks: bool,
}

impl<D: Device> QueuePair<D> {
    /// Description of the queue pair.
    pub fn info(&self) -> QueueInfo<'_> {
        QueueInfo {
            id: self.id,
            depth: self.depth,
            memory: self.memory.memory().len() + self.slots.memory() + size_of::<Self>(),
            device_name: self.device().name(),
            policy: &self.policy,
            masks_between_blocks: self.interrupt.masks_between_blocks(),
        }
    }
}
