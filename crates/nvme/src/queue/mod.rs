//! An I/O queue pair.

mod completion;
mod layout;
pub(crate) mod prp;
mod slots;
mod submission;
mod waiting;

pub(crate) use completion::CompletionRing;
pub(crate) use layout::Layout;
pub use slots::CompletionFault;
pub(crate) use slots::MOST as MOST_SLOTS;
pub(crate) use submission::SubmissionRing;

use crate::controller::Shared;
use crate::{Namespace, Rejected, SubmitError};
use joulio_device::{Device, DmaBuffer, DmaDomain, DmaMemory, Vector};
use joulio_nvme_spec::{Command, CommandId, NvmOpcode, QueueId, Status};
use joulio_units::{Direction, Nanos};
use joulio_wait::{AnyPolicy, Class, Counters, Outstanding, Policy, now};
use prp::Lists;
use slots::{Entry, Slots};
use std::sync::Arc;
use waiting::Line;
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
            completion: CompletionRing::new(
                memory.array(layout.completion(), entries),
                doorbells.1,
            ),
            slots: Slots::new(depth),
            lists: Lists::new(&memory, layout.lists, depth, max_transfer),
            max_transfer,
            domain: memory.domain(),
            policy: AnyPolicy::POLL,
            timed: false,
            line: Line::masked(vector),
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
        // The vector's next owner is not to find this queue's interrupts, nor the one that became
        // pending behind the mask.
        if let Some(vector) = &self.line.vector {
            let _ = vector.unmask().and_then(|()| vector.mask());
        }
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
