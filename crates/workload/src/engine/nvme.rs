//! The user-space NVMe driver as an engine: a queue pair on each device, in one poll group.

use super::Traced;
use joulio_device::Device;
use joulio_engine::{Buffer, Completion, Engine, Request};
use joulio_nvme::spec::Status;
use joulio_nvme::spec::command::QueuePriority;
use joulio_nvme::wait::{AnyPolicy, Policy, StepKind, WaitCounters, now};
use joulio_nvme::{
    Completed, Controller, DmaBuffer, Faults, Namespace, NvmeError, PolicyError, PollGroup,
    QueuePair, SubmitError, Transfer,
};
use joulio_trace::Recorded;
use joulio_units::{CpuList, Nanos, Operation};
use rustix::thread::{CpuSet, sched_getaffinity};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A namespace and its controller.
type Place<D> = (Arc<Controller<D>>, Namespace);

/// A queue pair on each of several namespaces; one core waits for all of them.
pub struct NvmeEngine<D: Device> {
    group: PollGroup<D>,
    /// The namespaces, in the order of the group's queues.
    places: Vec<Place<D>>,
    /// Queues with commands whose doorbell has not been rung yet.
    unrung: Vec<usize>,
    /// Buffers of the flushes in flight, by tag: a flush passes no buffer to the device.
    aside: Vec<(u64, NvmeBuffer)>,
    /// CPUs that handle the interrupts, and the reason if they are not the intended ones.
    directed: (BTreeSet<u32>, Option<String>),
}

impl<D: Device> NvmeEngine<D> {
    /// Creates queue pairs of `depth` and `priority` on `places`, each with its policy, for the calling thread. The
    /// inner error reports a policy that is unavailable here.
    ///
    /// # Errors
    /// [`NvmeError`]: a queue pair cannot be created.
    pub fn new(
        places: Vec<(Place<D>, AnyPolicy)>,
        priority: QueuePriority,
        depth: usize,
    ) -> Result<Result<NvmeEngine<D>, PolicyError>, NvmeError> {
        let mut queues = Vec::with_capacity(places.len());
        let mut kept = Vec::with_capacity(places.len());
        for (place, policy) in places {
            let mut queue = place.0.create_queue_pair_of(priority, depth)?;
            if let Err(error) = queue.set_policy(policy) {
                return Ok(Err(error));
            }
            let served = queue.serve(&place.1);
            served.map_err(|reason| unsupported(&queue, &reason))?;
            queues.push(queue);
            kept.push(place);
        }
        let mut group = PollGroup::new(queues);
        let engine = group.attach().map(|()| NvmeEngine {
            group,
            unrung: Vec::with_capacity(kept.len()),
            aside: Vec::with_capacity(kept.len() * depth),
            directed: (BTreeSet::new(), None),
            places: kept,
        });
        Ok(engine.map(|mut engine| {
            match own_cpu() {
                Some(cpu) => engine.direct_interrupts(cpu),
                None => engine.find_interrupts(),
            }
            engine
        }))
    }

    /// Directs the interrupts of all queues to `cpu`, and keeps the CPUs that handle them, or the system's error.
    fn direct_interrupts(&mut self, cpu: usize) {
        for queue in self.group.queues() {
            match queue.direct_interrupts(cpu) {
                Ok(cpus) => self.directed.0.extend(cpus.iter().flat_map(CpuList::iter)),
                Err(error) => self.directed.1 = Some(error.to_string()),
            }
        }
    }

    /// Keeps the CPUs that handle the interrupts of all queues, which nobody has directed: the thread has no CPU of its
    /// own. Queues without interrupts have none.
    fn find_interrupts(&mut self) {
        for queue in self.group.queues() {
            match queue.interrupt_cpus() {
                Ok(None) => {}
                Ok(Some(cpus)) => {
                    self.directed.0.extend(cpus.iter());
                    self.directed.1.get_or_insert_with(|| NOT_BOUND.into());
                }
                Err(error) => self.directed.1 = Some(format!("{NOT_BOUND} ({error})")),
            }
        }
    }

    /// Submits a read or write that is not one of a page, or needs more than to be sent.
    #[inline(never)]
    fn transfer(
        &mut self,
        kind: Transfer,
        (device, range): (usize, (u64, u32)),
        buffer: DmaBuffer,
        tag: u64,
    ) -> Result<(), NvmeError> {
        let (_, namespace) = &self.places[device];
        let queue = &mut self.group.queues()[device];
        let sent = queue.transfer(kind, namespace, range, (buffer, 0), tag);
        sent.map_err(|rejected| unsupported(queue, &rejected.reason))
    }

    /// Submits a trim of the blocks of `range`, or a flush.
    #[inline(never)]
    fn prepare_other(
        &mut self,
        request: Request,
        (lba, blocks): (u64, u32),
        buffer: NvmeBuffer,
    ) -> Result<(), NvmeError> {
        let (_, namespace) = &self.places[request.device];
        let queue = &mut self.group.queues()[request.device];
        if request.operation == Operation::Trim {
            let range = lba..lba + u64::from(blocks);
            let sent = queue.deallocate(namespace, &[range], buffer.0, request.tag);
            return sent.map_err(|rejected| unsupported(queue, &rejected.reason));
        }
        self.aside.push((request.tag, buffer));
        let flushed = queue.flush(namespace, request.tag);
        flushed.map_err(|reason| unsupported(queue, &reason))
    }
}

/// Reason why the interrupts of a job's queues go wherever the kernel has them.
const NOT_BOUND: &str = "the job is not bound to one: --cpus_allowed binds it and directs them";

/// Returns the CPU that the calling thread is bound to, if it is bound to one.
fn own_cpu() -> Option<usize> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
    cpus.next().filter(|_| allowed.count() == 1)
}

/// DMA memory in the form of an engine's buffer.
pub struct NvmeBuffer(DmaBuffer);

impl Buffer for NvmeBuffer {
    fn address(&self) -> u64 {
        self.0.address()
    }

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

    fn buffers(
        &mut self,
        device: usize,
        count: usize,
        len: usize,
    ) -> Result<Vec<NvmeBuffer>, NvmeError> {
        let (controller, _) = &self.places[device];
        let buffers = controller.allocate_buffers(count, len)?;
        Ok(buffers.into_iter().map(NvmeBuffer).collect())
    }

    fn waited(&mut self, device: usize, time: Nanos) {
        self.group.queues()[device].waited(time);
    }

    #[inline]
    fn prepare(&mut self, request: Request, buffer: NvmeBuffer) -> Result<(), NvmeError> {
        let Request { device, tag, .. } = request;
        let (_, namespace) = &self.places[device];
        // The block size is a power of two.
        let shift = namespace.block_size().trailing_zeros();
        let range = (request.offset >> shift, request.len >> shift);
        if self.unrung.last() != Some(&device) {
            self.unrung.push(device);
        }
        let kind = match request.operation {
            Operation::Read => Transfer::READ,
            Operation::Write => Transfer::WRITE,
            _ => return self.prepare_other(request, range, buffer),
        };
        let buffer = match self.group.queues().usual(device) {
            None => buffer.0,
            Some(mut queue) => match queue.transfer_page(kind, range, buffer.0, tag) {
                Ok(()) => return Ok(()),
                Err(buffer) => buffer,
            },
        };
        self.transfer(kind, (device, range), buffer, tag)
    }

    #[inline]
    fn submit(&mut self) -> Result<(), NvmeError> {
        for &device in &self.unrung {
            if let Some(mut queue) = self.group.queues().usual(device) {
                queue.ring();
            }
        }
        self.unrung.clear();
        Ok(())
    }

    fn submits_at_once(&self) -> bool {
        true
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
            let aside = &mut self.aside;
            let reaped = self.group.reap(wanted, Some(deadline), |_, completed| {
                delivered += 1;
                if let Some(completion) = completion(completed, aside) {
                    sink(completion);
                }
            });
            match reaped {
                Ok(_) => return Ok(delivered),
                // The completion belongs to no command: the queue has counted it, and the run goes on.
                Err(NvmeError::Completion(_)) if now() < deadline => {}
                Err(NvmeError::Completion(_)) => return Ok(delivered),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the policy's name, and the name of AMD's instruction if that is used in place of Intel's, after
    /// which the policy is named.
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

    fn counters(&mut self) -> WaitCounters {
        self.group.counters()
    }

    fn counts_waiting(&self) -> bool {
        true
    }

    fn learning(&mut self) -> Nanos {
        let queues = self.group.queues().iter();
        let learning = queues.map(|queue| queue.info().policy.learning());
        learning.max().unwrap_or_default()
    }
}

impl<D: Device> Traced for NvmeEngine<D> {
    fn start_trace(&mut self, capacity: usize) {
        self.group.start_trace(capacity);
    }

    fn take_trace(&mut self) -> Vec<Recorded> {
        self.group.take_trace()
    }

    fn interrupt_cpus(&self) -> (BTreeSet<u32>, Option<String>) {
        self.directed.clone()
    }

    fn faults(&self) -> Faults {
        self.group.faults()
    }
}

fn unsupported<D: Device>(queue: &QueuePair<D>, reason: &SubmitError) -> NvmeError {
    NvmeError::Unsupported {
        device: queue.info().device_name.into(),
        what: reason.to_string(),
    }
}

/// Returns the completion of a request; a flush gets its buffer back from `aside`. A request whose buffer stays
/// with a dead device ends with the engine.
fn completion(
    completed: Completed,
    aside: &mut Vec<(u64, NvmeBuffer)>,
) -> Option<Completion<NvmeBuffer, Status>> {
    let buffer = match completed.buffer {
        Some(buffer) => NvmeBuffer(buffer),
        None => {
            let place = aside.iter().position(|(tag, _)| *tag == completed.tag)?;
            aside.swap_remove(place).1
        }
    };
    let outcome = match completed.status {
        status if status.is_success() => Ok(()),
        status => Err(status),
    };
    Some(Completion {
        tag: completed.tag,
        outcome,
        buffer,
    })
}
