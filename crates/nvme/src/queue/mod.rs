//! An I/O queue pair.

mod completion;
pub(crate) mod prp;
mod slots;
mod submission;

pub(crate) use completion::CompletionRing;
pub use slots::CompletionFault;
pub(crate) use slots::MOST as MOST_SLOTS;
pub(crate) use submission::SubmissionRing;

use crate::controller::Shared;
use crate::{Namespace, PolicyError, Rejected, SubmitError};
use joulio_device::{Device, DmaBuffer, DmaDomain, DmaMemory, Vector};
use joulio_nvme_spec::{Command, CommandId, NvmOpcode, PAGE_SIZE, QueueId, Status};
use joulio_units::{Direction, Nanos};
use joulio_wait::{
    AnyPolicy, Class, Counters, Outstanding, Policy, Step, StepKind, StepSet, WaitError, now,
};
use prp::Lists;
use slots::{Entry, Slots};
use std::sync::Arc;
use zerocopy::little_endian::{U32, U64};

/// A completed command.
pub struct Completed {
    /// What the caller gave with the command.
    pub tag: u64,
    /// How it ended.
    pub status: Status,
    /// Dword 0 of the completion: command specific.
    pub dw0: u32,
    /// Its buffer, the caller's again; a flush has none.
    pub buffer: Option<DmaBuffer>,
}

/// Completions that belonged to no command. None of them was delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// For a slot that has been used again since.
    pub stale: u64,
    /// For a command that was completed before.
    pub doubled: u64,
    /// For no slot, or from another queue.
    pub unknown: u64,
}

/// A submission and a completion queue of the same depth, on an interrupt vector of its own where
/// the device has one.
///
/// Commands wait in the submission queue until [`QueuePair::ring`], so that several go out behind
/// one doorbell write.
pub struct QueuePair<D: Device> {
    id: QueueId,
    depth: usize,
    submission: SubmissionRing<D>,
    completion: CompletionRing<D>,
    slots: Slots,
    lists: Lists,
    max_transfer: u32,
    domain: DmaDomain,
    policy: AnyPolicy,
    timed: bool,
    line: Line,
    counters: Counters,
    faults: Faults,
    memory: Arc<DmaMemory>,
    shared: Arc<Shared<D>>,
}

/// The queue's interrupt.
struct Line {
    vector: Option<Vector>,
    masked: bool,
    /// Where the vector's writes go, if it is aimed.
    aimed: Option<Arc<DmaMemory>>,
    /// Completions seen less interrupts taken: above zero, the eventfd may hold interrupts of
    /// completions that are no news any more.
    unclaimed: i64,
}

/// Where the parts of a queue pair stand in its memory.
pub(crate) struct Layout {
    completion: usize,
    lists: usize,
    pub(crate) bytes: usize,
}

impl Layout {
    /// For queues of `entries` and lists for transfers up to `max_transfer` bytes.
    pub(crate) fn new(entries: usize, depth: usize, max_transfer: u32) -> Layout {
        let completion = (entries * size_of::<Command>()).next_multiple_of(PAGE_SIZE);
        let lists = completion + (entries * 16).next_multiple_of(PAGE_SIZE);
        Layout {
            completion,
            lists,
            bytes: lists + Lists::bytes(depth, max_transfer),
        }
    }

    /// Offset of the completion queue; the submission queue is first.
    pub(crate) fn completion(&self) -> usize {
        self.completion
    }
}

/// What a new queue pair is made of.
pub(crate) struct Parts<D: Device> {
    pub(crate) id: QueueId,
    pub(crate) depth: usize,
    pub(crate) memory: Arc<DmaMemory>,
    pub(crate) vector: Option<Vector>,
    pub(crate) doorbells: (D::Doorbell, D::Doorbell),
    pub(crate) shared: Arc<Shared<D>>,
}

impl<D: Device> QueuePair<D> {
    /// A polled queue pair over `parts`; the controller knows its queues already.
    pub(crate) fn new(parts: Parts<D>) -> QueuePair<D> {
        let Parts {
            id,
            depth,
            memory,
            vector,
            doorbells,
            shared,
        } = parts;
        let entries = depth + 1;
        let max_transfer = shared.max_transfer;
        let layout = Layout::new(entries, depth, max_transfer);
        QueuePair {
            id,
            depth,
            submission: SubmissionRing::new(memory.array(0, entries), doorbells.0),
            completion: CompletionRing::new(memory.array(layout.completion, entries), doorbells.1),
            slots: Slots::new(depth),
            lists: Lists::new(&memory, layout.lists, depth, max_transfer),
            max_transfer,
            domain: memory.domain(),
            policy: AnyPolicy::POLL,
            timed: false,
            line: Line {
                vector,
                masked: true,
                aimed: None,
                unclaimed: 0,
            },
            counters: Counters::default(),
            faults: Faults::default(),
            memory,
            shared,
        }
    }

    /// QID.
    pub fn id(&self) -> QueueId {
        self.id
    }

    /// The most commands that can be outstanding.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Commands outstanding.
    #[inline]
    pub fn outstanding(&self) -> usize {
        self.slots.count()
    }

    /// Bytes of host memory that the pair takes, data buffers aside.
    pub fn memory(&self) -> usize {
        self.memory.memory().len() + self.slots.memory() + size_of::<Self>()
    }

    /// Reads `blocks` logical blocks from `lba` into `buffer`.
    #[inline]
    pub fn read(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffer: DmaBuffer,
        tag: u64,
    ) -> Result<(), Rejected> {
        self.transfer(NvmOpcode::READ, namespace, lba, blocks, buffer, tag)
    }

    /// Writes `blocks` logical blocks from `buffer` to `lba`.
    #[inline]
    pub fn write(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffer: DmaBuffer,
        tag: u64,
    ) -> Result<(), Rejected> {
        self.transfer(NvmOpcode::WRITE, namespace, lba, blocks, buffer, tag)
    }

    /// Commits the namespace's writes that completed before to non-volatile media.
    pub fn flush(&mut self, namespace: &Namespace, tag: u64) -> Result<(), SubmitError> {
        if namespace.domain != self.domain {
            return Err(SubmitError::Foreign);
        }
        let Some(slot) = self.slots.next() else {
            return Err(SubmitError::QueueFull);
        };
        let command = Command::nvm(NvmOpcode::FLUSH, namespace.id());
        if self.timed {
            self.note(slot, Class::new(Direction::Other, 0));
        }
        self.issue(slot, command, Entry { tag, buffer: None });
        Ok(())
    }

    #[inline]
    fn transfer(
        &mut self,
        opcode: NvmOpcode,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffer: DmaBuffer,
        tag: u64,
    ) -> Result<(), Rejected> {
        let bytes = match self.check(namespace, lba, blocks, &buffer) {
            Ok(bytes) => bytes,
            Err(reason) => return Err(Rejected { reason, buffer }),
        };
        let Some(slot) = self.slots.next() else {
            return Err(Rejected {
                reason: SubmitError::QueueFull,
                buffer,
            });
        };
        let mut command = Command::transfer(opcode, namespace.id(), lba, blocks);
        let prps = self.lists.describe(slot, buffer.iova(), bytes);
        command.prp1 = U64::new(prps.prp1);
        command.prp2 = U64::new(prps.prp2);
        if self.timed {
            let direction = match opcode {
                NvmOpcode::READ => Direction::Read,
                _ => Direction::Write,
            };
            self.note(slot, Class::new(direction, bytes));
        }
        let buffer = Some(buffer);
        self.issue(slot, command, Entry { tag, buffer });
        Ok(())
    }

    /// The length in bytes of a transfer that may be done.
    #[inline]
    fn check(
        &self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffer: &DmaBuffer,
    ) -> Result<u32, SubmitError> {
        if buffer.domain() != self.domain || namespace.domain != self.domain {
            return Err(SubmitError::Foreign);
        }
        let bytes = u64::from(blocks) << namespace.shift();
        if bytes == 0 || bytes > u64::from(self.max_transfer) {
            return Err(SubmitError::Length {
                bytes,
                most: self.max_transfer,
            });
        }
        if bytes > buffer.len() as u64 {
            return Err(SubmitError::Buffer { bytes });
        }
        let size = namespace.blocks();
        if lba >= size || u64::from(blocks) > size - lba {
            return Err(SubmitError::Range { lba, blocks, size });
        }
        Ok(bytes as u32)
    }

    /// Writes a command into the free slot `slot`.
    #[inline]
    fn issue(&mut self, slot: u16, mut command: Command, entry: Entry) {
        let cid = self.slots.insert(slot, entry);
        command.cdw0 = U32::new(command.cdw0.get() | u32::from(cid.0) << 16);
        self.submission.write(command);
    }

    /// Tells a policy that wants to know of the command that is about to go into `slot`.
    #[inline(never)]
    fn note(&mut self, slot: u16, class: Class) {
        let at = now();
        self.slots.note(slot, at, class);
        self.policy.submitted(class, at);
    }

    /// Rings the submission doorbell, once for all commands written since the last time.
    #[inline]
    pub fn ring(&mut self) {
        self.submission.ring();
    }

    /// Looks at the completion queue once and hands out up to `most` completions. Does not wait.
    ///
    /// After a [`CompletionFault`] the queue is consistent: the bad entry was passed over and
    /// counted, the good ones before it were delivered, and the call may be repeated.
    #[inline]
    pub fn reap(
        &mut self,
        most: usize,
        mut sink: impl FnMut(Completed),
    ) -> Result<usize, CompletionFault> {
        self.counters.polls += 1;
        let at = if self.timed { now() } else { Nanos::ZERO };
        let mut delivered = 0;
        let mut seen = false;
        let mut result = Ok(());
        while delivered < most {
            let Some(entry) = self.completion.next() else {
                break;
            };
            seen = true;
            let cid = entry.command_id();
            let found = if entry.queue_id() == self.id {
                self.slots.remove(cid)
            } else {
                Err(CompletionFault::Unknown(cid))
            };
            let command = match found {
                Ok(command) => command,
                Err(fault) => {
                    result = Err(fault);
                    break;
                }
            };
            if self.timed {
                self.learn(cid, at);
            }
            delivered += 1;
            sink(Completed {
                tag: command.tag,
                status: entry.status(),
                dw0: entry.dw0.get(),
                buffer: command.buffer,
            });
        }
        if seen {
            self.line.unclaimed += delivered as i64;
            self.completion.release();
        } else {
            self.counters.empty_polls += 1;
        }
        match result {
            Ok(()) => Ok(delivered),
            Err(fault) => Err(self.count_fault(fault)),
        }
    }

    /// Tells a policy that wants to know of a completion seen at `at`.
    #[inline(never)]
    fn learn(&mut self, cid: CommandId, at: Nanos) {
        let (submitted, class) = self.slots.noted(cid);
        // Commands submitted before the policy came have no time.
        if submitted != Nanos::ZERO {
            self.policy.completed(class, submitted, at);
        }
    }

    #[cold]
    fn count_fault(&mut self, fault: CompletionFault) -> CompletionFault {
        match fault {
            CompletionFault::Unknown(_) => self.faults.unknown += 1,
            CompletionFault::Stale(_) => self.faults.stale += 1,
            CompletionFault::Doubled(_) => self.faults.doubled += 1,
        }
        fault
    }

    /// Looks whether a completion is there, and counts the look when it is in vain.
    #[inline]
    pub(crate) fn look(&mut self) -> bool {
        let ready = self.completion.ready();
        let vain = u64::from(!ready);
        self.counters.polls += vain;
        self.counters.empty_polls += vain;
        ready
    }

    /// The steps that this queue can wait with, out of a waiter's.
    pub(crate) fn can(&self, waiter: StepSet) -> StepSet {
        let mut can = StepSet::NONE
            .with(StepKind::Spin)
            .with(StepKind::Pause)
            .with(StepKind::Monitor)
            .with(StepKind::Sleep);
        if self.line.vector.is_some() {
            can = can.with(StepKind::Block);
        }
        can.and(waiter)
    }

    /// The way of waiting.
    pub fn policy(&self) -> &AnyPolicy {
        &self.policy
    }

    /// What the policy plans; an error when that is none of the steps it said it would take.
    pub(crate) fn plan(&mut self, waiter: StepSet, at: Nanos) -> Result<Step, WaitError> {
        let can = self.can(waiter).and(self.policy.steps());
        let step = self.policy.plan(&self.slots, can, at);
        if can.has(step.kind) {
            Ok(step)
        } else {
            Err(WaitError::Unavailable(step.kind))
        }
    }

    /// Whether the policy is told times.
    pub(crate) fn timed(&self) -> bool {
        self.timed
    }

    /// Changes the way of waiting, at any time, with commands outstanding or not. A policy that
    /// never blocks has the vector masked, so that completions raise no interrupt at all.
    pub fn set_policy(&mut self, policy: AnyPolicy) -> Result<(), PolicyError> {
        let steps = policy.steps();
        let can = self.can(joulio_wait::Waiter::new().can());
        if steps.and(can) != steps {
            let policy = policy.name();
            return Err(
                if steps.has(StepKind::Block) && self.line.vector.is_none() {
                    PolicyError::NoVector {
                        policy,
                        have: self.shared.device.max_vectors(),
                    }
                } else {
                    PolicyError::NoStep { policy }
                },
            );
        }
        self.aim_back()?;
        if !steps.has(StepKind::Block) {
            self.mask()?;
        }
        self.slots.forget_notes();
        self.timed = policy.timed();
        self.policy = policy;
        Ok(())
    }

    fn mask(&mut self) -> Result<(), PolicyError> {
        if let Some(vector) = self.line.vector.as_ref().filter(|_| !self.line.masked) {
            vector.mask()?;
            self.line.masked = true;
        }
        Ok(())
    }

    /// The vector, if the policy blocks on it.
    pub(crate) fn blocking_vector(&self) -> Option<&Vector> {
        self.line
            .vector
            .as_ref()
            .filter(|_| self.policy.steps().has(StepKind::Block))
    }

    /// Points the vector's interrupt at the word at `offset` of `memory`: from now on a completion
    /// writes `data` there, after its entry in the completion queue, and raises no interrupt. For
    /// queues whose policy does not block; a change of policy ends it. Without a vector, an error.
    ///
    /// # Panics
    /// When the word is not inside `memory`.
    pub fn aim(
        &mut self,
        memory: &Arc<DmaMemory>,
        offset: usize,
        data: u32,
    ) -> Result<(), PolicyError> {
        let policy = self.policy.name();
        if self.policy.steps().has(StepKind::Block) || memory.domain() != self.domain {
            return Err(PolicyError::NoStep { policy });
        }
        let Some(vector) = &self.line.vector else {
            let have = self.shared.device.max_vectors();
            return Err(PolicyError::NoVector { policy, have });
        };
        assert!(offset.is_multiple_of(4) && offset + 4 <= memory.memory().len());
        vector.aim(memory.iova().offset(offset), data)?;
        self.line.aimed = Some(Arc::clone(memory));
        vector.unmask()?;
        self.line.masked = false;
        Ok(())
    }

    /// Ends [`QueuePair::aim`]: the vector is masked and reaches the eventfd again.
    pub fn aim_back(&mut self) -> Result<(), PolicyError> {
        if self.line.aimed.is_some() {
            self.mask()?;
            if let Some(vector) = &self.line.vector {
                vector.aim_back()?;
            }
            // Only now: until here the device could write there.
            self.line.aimed = None;
        }
        Ok(())
    }

    /// Lets interrupts through and forgets those of completions already seen.
    pub(crate) fn arm(&mut self) -> Result<(), joulio_device::DeviceError> {
        if let Some(vector) = self.line.vector.as_ref().filter(|_| self.line.masked) {
            vector.unmask()?;
            self.line.masked = false;
            // What completed while it was masked is pending and comes now: no news either.
            self.line.unclaimed = self.line.unclaimed.max(1);
        }
        if self.line.unclaimed > 0 {
            self.take();
            self.line.unclaimed = 0;
        }
        Ok(())
    }

    /// Claims the interrupts that ended a block; whether there were any.
    pub(crate) fn claim(&mut self) -> bool {
        self.take() > 0
    }

    /// Takes the interrupts raised since the last time into the counters.
    fn take(&mut self) -> u64 {
        let raised = self.line.vector.as_ref().map_or(0, Vector::take);
        self.counters.interrupts += raised;
        self.line.unclaimed -= raised as i64;
        if self.outstanding() == 0 {
            // Interrupts that come without a completion must not add up to a debt.
            self.line.unclaimed = self.line.unclaimed.max(0);
        }
        raised
    }

    /// The core blocked for `time`; an interrupt ended it, or not.
    pub(crate) fn blocked_for(&mut self, time: Nanos, woken: bool) {
        self.counters.blocks += 1;
        self.counters.wakes += u64::from(woken);
        self.counters.blocked += time;
    }

    pub(crate) fn slept_for(&mut self, time: Nanos, over: bool) {
        self.counters.sleeps += 1;
        self.counters.oversleeps += u64::from(over);
        self.counters.slept += time;
    }

    /// What waiting did, interrupts not yet claimed included.
    pub fn counters(&mut self) -> Counters {
        self.take();
        self.counters
    }

    /// Completions that belonged to no command.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// The controller's name, for messages.
    pub fn device_name(&self) -> &str {
        self.shared.device.name()
    }
}

impl<D: Device> Drop for QueuePair<D> {
    fn drop(&mut self) {
        let quiet = self.aim_back().and_then(|()| self.mask()).is_ok();
        let buffers = self.slots.take_buffers();
        let deleted = self.shared.delete_queues(self.id).is_ok();
        // The vector's next owner is not to find this queue's interrupts.
        self.take();
        let vector = self.line.vector.take();
        self.shared.take_back(self.id, vector, deleted && quiet);
        if !deleted || !buffers.is_empty() {
            // The device may still write there: held until CSTS.RDY = 0.
            self.shared.retire(Arc::clone(&self.memory), buffers);
        }
        if let Some(aimed) = self.line.aimed.take() {
            self.shared.retire(aimed, Vec::new());
        }
    }
}
