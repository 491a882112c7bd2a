//! The user-space NVMe driver as an engine: one queue pair, a poll group of one.

use super::Traced;
use joulio_device::Device;
use joulio_engine::{Buffer, Completion, Engine, Request};
use joulio_nvme::spec::Status;
use joulio_nvme::wait::{AnyPolicy, Counters, Policy, StepKind, now};
use joulio_nvme::{
    Completed, Controller, DmaBuffer, Faults, Namespace, NvmeError, PolicyError, PollGroup,
};
use joulio_trace::Recorded;
use joulio_units::{Direction, Nanos};
use std::sync::Arc;

/// A queue pair on a namespace.
pub struct NvmeEngine<D: Device> {
    group: PollGroup<D>,
    namespace: Namespace,
    controller: Arc<Controller<D>>,
}

impl<D: Device> NvmeEngine<D> {
    /// A queue pair of `depth` that waits as `policy` says, on the calling thread; the inner error
    /// is a policy that cannot be had here.
    pub fn new(
        controller: Arc<Controller<D>>,
        namespace: Namespace,
        depth: usize,
        policy: AnyPolicy,
    ) -> Result<Result<NvmeEngine<D>, PolicyError>, NvmeError> {
        let mut queue = controller.create_queue_pair(depth)?;
        if let Err(error) = queue.set_policy(policy) {
            return Ok(Err(error));
        }
        let mut group = PollGroup::new(vec![queue]);
        Ok(group.attach().map(|()| NvmeEngine {
            group,
            namespace,
            controller,
        }))
    }
}

/// DMA memory as a buffer of an engine.
pub struct NvmeBuffer(DmaBuffer);

impl Buffer for NvmeBuffer {
    fn copy_to(&self, to: &mut [u8]) {
        self.0.read(0, to);
    }

    fn copy_from(&mut self, from: &[u8]) {
        self.0.write(0, from);
    }
}

impl<D: Device> Engine for NvmeEngine<D> {
    type Buffer = NvmeBuffer;
    type Failure = Status;
    type Error = NvmeError;

    fn buffers(&mut self, count: usize, len: usize) -> Result<Vec<NvmeBuffer>, NvmeError> {
        let buffers = self.controller.allocate_buffers(count, len)?;
        Ok(buffers.into_iter().map(NvmeBuffer).collect())
    }

    fn waited(&mut self, time: Nanos) {
        self.group.queues()[0].waited(time);
    }

    #[inline]
    fn prepare(&mut self, request: Request, buffer: NvmeBuffer) -> Result<(), NvmeError> {
        let block = u64::from(self.namespace.block_size());
        let (lba, blocks) = (request.offset / block, request.len / block as u32);
        let queue = &mut self.group.queues()[0];
        let result = match request.direction {
            Direction::Write => queue.write(&self.namespace, lba, blocks, buffer.0, request.tag),
            _ => queue.read(&self.namespace, lba, blocks, buffer.0, request.tag),
        };
        result.map_err(|rejected| NvmeError::Unsupported {
            device: queue.info().device_name.into(),
            what: rejected.reason.to_string(),
        })
    }

    #[inline]
    fn submit(&mut self) -> Result<(), NvmeError> {
        self.group.queues()[0].ring();
        Ok(())
    }

    #[inline]
    fn reap(
        &mut self,
        min: usize,
        deadline: Nanos,
        mut sink: impl FnMut(Completion<NvmeBuffer, Status>),
    ) -> Result<usize, NvmeError> {
        let mut delivered = 0;
        loop {
            let wanted = min.saturating_sub(delivered);
            let reaped = self.group.reap(wanted, Some(deadline), |_, completed| {
                delivered += 1;
                if let Some(completion) = completion(completed) {
                    sink(completion);
                }
            });
            match reaped {
                Ok(_) => return Ok(delivered),
                // Not a command's: the queue has counted it, and the run goes on.
                Err(NvmeError::Completion(_)) if now() < deadline => {}
                Err(NvmeError::Completion(_)) => return Ok(delivered),
                Err(error) => return Err(error),
            }
        }
    }

    /// The policy's name, and that of AMD's instruction where it does what the policy has the name
    /// of Intel's for.
    fn effective(&mut self) -> String {
        let light = self.group.user_level_wait();
        let policy = self.group.queues()[0].info().policy;
        let name = policy.name().into_owned();
        let steps = policy.steps();
        let sleeps = steps.has(StepKind::Pause) || steps.has(StepKind::Monitor);
        match light {
            Some("mwaitx") if sleeps => format!("{name} (mwaitx)"),
            _ => name,
        }
    }

    fn counters(&mut self) -> Counters {
        self.group.counters()
    }

    fn counts_waiting(&self) -> bool {
        true
    }

    fn learning(&mut self) -> Nanos {
        self.group.queues()[0].info().policy.learning()
    }
}

impl<D: Device> Traced for NvmeEngine<D> {
    fn start_trace(&mut self, capacity: usize) {
        self.group.start_trace(capacity);
    }

    fn take_trace(&mut self) -> Vec<Recorded> {
        self.group.take_trace()
    }

    fn faults(&self) -> Faults {
        self.group.faults()
    }
}

/// A request that ended. One whose buffer stays with a dead device ends with the engine.
fn completion(completed: Completed) -> Option<Completion<NvmeBuffer, Status>> {
    let outcome = match completed.status {
        status if status.is_success() => Ok(()),
        status => Err(status),
    };
    Some(Completion {
        tag: completed.tag,
        outcome,
        buffer: NvmeBuffer(completed.buffer?),
    })
}
