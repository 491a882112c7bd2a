//! An I/O queue pair.

mod commands;
pub(crate) mod completion;
mod faults;
mod info;
mod interrupt;
mod layout;
pub(crate) mod prp;
pub(crate) mod raw;
mod recovery;
mod retry;
mod scatter;
mod slots;
pub(crate) mod submission;
mod tracing;
mod usual;
pub(crate) mod waiting;

pub use commands::{MAX_RANGES, Transfer};
pub use faults::Faults;
pub use info::QueueInfo;
pub(crate) use layout::Layout;
pub use slots::CompletionFault;
pub(crate) use slots::MAX_SLOTS;
pub use usual::Taken;

use crate::controller::shared::Shared;
use crate::namespace::ControllerId;
use completion::{CompletionRing, Posted};
use interrupt::Interrupt;
use joulio_device::{BufferList, Device, DmaBuffer, DmaDomain, DmaMemory, Vector};
use joulio_nvme_spec::command::QueuePriority;
use joulio_nvme_spec::{Command, CommandId, QueueId, Status};
use joulio_trace::{FaultKind, Trace};
use joulio_units::{Direction, Nanos};
use joulio_wait::{AnyPolicy, Class, Outstanding, Policy, now};
use prp::Lists;
use retry::Retries;
use slots::{Entry, Slots};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use submission::SubmissionRing;
use usual::Usual;
use zerocopy::little_endian::U32;

/// A completed command.
pub struct Completed {
    /// Tag that the caller gave to the command.
    pub tag: u64,
    /// Status of the completion (NVM Express Base 2.0, 3.3.3.2). Command Aborted By Host (371h) comes from the
    /// driver: the controller was reset or removed before it completed the command, which may or may not have been
    /// executed.
    pub status: Status,
    /// Dword 0 of the completion, specific to the command.
    pub dw0: u32,
    /// Dword 1 of the completion, specific to the command.
    pub dw1: u32,
    /// Buffer of the command, which is the caller's again; a flush has none. A controller that could not be stopped
    /// from using memory keeps it. For a list this is the first buffer, which holds the others:
    /// [`Completed::into_buffers`] returns all.
    pub buffer: Option<DmaBuffer>,
}

impl Completed {
    /// Returns dwords 0 and 1 as one number, dword 1 above: the first logical block that a Zone Append has written
    /// (Zoned Namespaces 1.1, 3.4.1).
    #[inline]
    pub fn result(&self) -> u64 {
        u64::from(self.dw1) << 32 | u64::from(self.dw0)
    }

    /// Returns all buffers of the command, in their order.
    pub fn into_buffers(self) -> BufferList {
        BufferList::from_chain(self.buffer)
    }
}

/// A submission and a completion queue of the same depth, on an interrupt vector of its own where
/// the device has one.
///
/// Commands wait in the submission queue until [`QueuePair::ring`], so that one doorbell write submits several.
pub struct QueuePair<D: Device> {
    id: QueueId,
    depth: usize,
    priority: QueuePriority,
    submission: SubmissionRing<D>,
    completion: CompletionRing<D>,
    slots: Slots,
    lists: Lists,
    max_transfer: u32,
    domain: DmaDomain,
    /// Controller whose namespaces it serves.
    controller: ControllerId,
    policy: AnyPolicy,
    /// Identifier of this pair with this policy, unique in the process.
    policy_id: u64,
    /// The policy or the trace needs times.
    timed: bool,
    /// Each command needs more than to be sent: a record for retries, the policy or the trace.
    extras: bool,
    usual: Usual,
    /// The group has noticed that it may have commands outstanding, if it is in one.
    noticed: bool,
    /// The group has noted that it was reaped.
    pub(crate) touched: bool,
    interrupt: Interrupt,
    /// Polls that found a completion.
    full_polls: u64,
    /// Polls that found a completion, as of the last check of the queue.
    checked_polls: u64,
    empty_polls: u64,
    faults: Faults,
    retries: Retries,
    trace: Trace,
    /// Generation of the controller in which the queue was created, and the controller's current one.
    generation: u32,
    current_generation: Arc<AtomicU32>,
    memory: Arc<DmaMemory>,
    shared: Arc<Shared<D>>,
}

/// Rings of a queue pair, for the controller to use.
#[derive(Clone, Copy)]
pub(crate) struct Rings {
    pub(crate) id: QueueId,
    /// Number of commands that can be outstanding: each ring has one entry more.
    pub(crate) depth: usize,
    pub(crate) priority: QueuePriority,
}

/// Parts of a new queue pair.
pub(crate) struct Parts<D: Device> {
    pub(crate) rings: Rings,
    pub(crate) memory: Arc<DmaMemory>,
    pub(crate) vector: Option<Vector>,
    pub(crate) doorbells: (D::Doorbell, D::Doorbell),
    pub(crate) generation: u32,
    pub(crate) shared: Arc<Shared<D>>,
}

impl<D: Device> QueuePair<D> {
    /// A polled queue pair over `parts`; the controller knows its queues already.
    pub(crate) fn new(parts: Parts<D>) -> QueuePair<D> {
        let Parts {
            rings,
            memory,
            vector,
            doorbells,
            generation,
            shared,
        } = parts;
        let Rings {
            id,
            depth,
            priority,
        } = rings;
        let entries = depth + 1;
        let max_transfer = shared.max_transfer;
        let lists = shared.list_layout();
        let layout = Layout::new(entries, depth, lists);
        QueuePair {
            id,
            depth,
            priority,
            submission: SubmissionRing::new(memory.array(0, entries), doorbells.0),
            completion: CompletionRing::new(
                memory.array(layout.completion(), entries),
                doorbells.1,
            ),
            slots: Slots::new(depth),
            lists: Lists::new(&memory, layout.lists, depth, lists, shared.sgls()),
            retries: Retries::new(shared.options.retries, depth),
            max_transfer,
            domain: memory.domain(),
            controller: shared.id,
            policy: AnyPolicy::POLL,
            policy_id: waiting::new_policy_id(),
            timed: false,
            extras: shared.options.retries > 0,
            usual: Usual::default(),
            noticed: true,
            touched: false,
            interrupt: Interrupt::masked(vector),
            full_polls: 0,
            checked_polls: 0,
            empty_polls: 0,
            faults: Faults::default(),
            trace: Trace::OFF,
            generation,
            current_generation: shared.current_generation(),
            memory,
            shared,
        }
    }

    /// The device that it is a queue of.
    pub(crate) fn device(&self) -> &D {
        &self.shared.device
    }

    /// The address space that the device reaches its memory in.
    pub(crate) fn domain(&self) -> DmaDomain {
        self.domain
    }

    #[inline]
    pub(crate) fn is_noticed(&self) -> bool {
        self.noticed
    }

    pub(crate) fn set_noticed(&mut self, noticed: bool) {
        self.noticed = noticed;
        self.find_usual();
    }

    /// Commands outstanding.
    #[inline]
    pub fn outstanding(&self) -> usize {
        self.slots.count()
    }

    /// Number of commands that can be outstanding.
    #[inline]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Writes the command `cid`, which moves `bytes` in `direction`, to the submission queue.
    #[inline]
    fn issue(&mut self, cid: CommandId, command: Command, (direction, bytes): (Direction, u32)) {
        self.send(cid, command);
        if self.extras {
            // A copy, which uses the stack only here.
            let words: [u64; 8] = zerocopy::transmute!(command);
            let command = zerocopy::transmute!(words.map(std::convert::identity));
            self.issued(cid, command, (direction, bytes));
        }
    }

    #[inline]
    fn send(&mut self, cid: CommandId, mut command: Command) {
        command.cdw0 = U32::new(command.cdw0.get() | u32::from(cid.0) << 16);
        self.submission.write(command);
    }

    /// Keeps a submitted command for retries, and reports it to the policy and the trace.
    #[inline(never)]
    fn issued(&mut self, cid: CommandId, command: Command, (direction, bytes): (Direction, u32)) {
        if self.retries.wanted() {
            let slot = Slots::index(cid) as u16;
            self.retries.keep(slot, command, (direction, bytes));
        }
        self.note(cid, direction, bytes);
    }

    /// Reports to the policy and the trace that the command `cid` was submitted.
    fn note(&mut self, cid: CommandId, direction: Direction, bytes: u32) {
        if !self.timed {
            return;
        }
        let at = now();
        if self.policy.timed() {
            let class = Class::new(direction, bytes);
            self.slots.note(cid, at, class);
            self.policy.submitted(class, at);
        }
        self.trace_submit(at, cid, direction, bytes);
    }

    /// Rings the submission doorbell (PCIe 3.1.2), once for all commands written since the last call.
    #[inline]
    pub fn ring(&mut self) {
        if !self.is_current() {
            return;
        }
        match self.is_traced() {
            false => self.submission.ring(),
            true => self.ring_traced(),
        }
    }

    /// Polls the completion queue once and hands out up to `max` completions, without waiting.
    ///
    /// # Errors
    /// The controller sent a completion of no outstanding command. The queue is consistent: the bad entry was skipped
    /// and counted, the good ones before it were delivered, and the call may be repeated.
    #[inline]
    pub fn reap(
        &mut self,
        max: usize,
        sink: impl FnMut(Completed),
    ) -> Result<usize, CompletionFault> {
        match self.peek() {
            Some(posted) if max > 0 => self.drain(posted, |delivered| delivered < max, sink),
            _ => Ok(0),
        }
    }

    /// Polls the completion queue once and hands out all completions.
    #[inline(always)]
    pub(crate) fn reap_all(
        &mut self,
        sink: impl FnMut(Completed),
    ) -> Result<usize, CompletionFault> {
        match self.peek() {
            Some(posted) => self.drain(posted, |_| true, sink),
            None => Ok(0),
        }
    }

    /// Polls the completion queue once; returns what the device has posted, if anything.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<Posted> {
        let posted = self.completion.peek();
        if posted.is_none() {
            self.polled_in(1);
        }
        posted
    }

    /// Returns what the device has posted at the head of the completion queue, if anything; not counted as a poll.
    #[inline]
    pub(crate) fn posted(&self) -> Option<Posted> {
        self.completion.peek()
    }

    /// Counts `rounds` polls that the group made of this queue and others, which found nothing here.
    #[inline]
    pub(crate) fn polled_in(&mut self, rounds: u64) {
        self.empty_polls = self.empty_polls.wrapping_add(rounds);
    }

    /// Subtracts `rounds` from the polls that the group has still to count here: this queue had a completion.
    #[inline]
    pub(crate) fn not_polled_in(&mut self, rounds: u64) {
        self.empty_polls = self.empty_polls.wrapping_sub(rounds);
    }

    /// Hands out the completion that was `posted`, and the completions after it as long as `more` wants them.
    #[inline(always)]
    pub(crate) fn drain(
        &mut self,
        posted: Posted,
        more: impl Fn(usize) -> bool,
        sink: impl FnMut(Completed),
    ) -> Result<usize, CompletionFault> {
        self.full_polls += 1;
        self.drain_counted(posted, more, sink)
    }

    /// Continues [`QueuePair::drain`] after a poll that was counted.
    #[inline(always)]
    fn drain_counted(
        &mut self,
        mut posted: Posted,
        more: impl Fn(usize) -> bool,
        mut sink: impl FnMut(Completed),
    ) -> Result<usize, CompletionFault> {
        let at = if self.timed { now() } else { Nanos::ZERO };
        let mut delivered = 0;
        loop {
            let (queue, result) = self.completion.take();
            let cid = posted.command_id();
            let found = match queue == self.id {
                true => self.slots.remove(cid),
                false => Err(CompletionFault {
                    kind: FaultKind::Unknown,
                    cid,
                }),
            };
            let command = match found {
                Ok(command) => command,
                Err(fault) => return Err(self.pass_over(fault)),
            };
            self.interrupt.seen(1);
            let status = posted.status();
            if self.timed {
                self.learn(cid, at, status);
            }
            let ended = |command: Entry| Completed {
                tag: command.tag,
                status,
                dw0: result as u32,
                dw1: (result >> 32) as u32,
                buffer: command.buffer,
            };
            if status.is_success() {
                delivered += 1;
                sink(ended(command));
            } else if let Some(command) = self.try_again(cid, status, command) {
                delivered += 1;
                sink(ended(command));
            }
            match self.completion.peek() {
                Some(next) if more(delivered) => posted = next,
                _ => break,
            }
        }
        self.release();
        Ok(delivered)
    }

    /// Gives the entries read so far back to the device, if the device still has the queue: rings the completion
    /// doorbell. Every function that reaps does so itself, except [`QueuePair::take_usual`].
    #[inline]
    pub fn release(&mut self) {
        if self.is_current() {
            self.completion.release();
        }
    }

    /// Reports a completion seen at `at` to the policy and the trace.
    #[inline(never)]
    fn learn(&mut self, cid: CommandId, at: Nanos, status: Status) {
        let (submitted, class) = self.slots.noted(cid);
        self.trace_plan(at, cid, class);
        self.trace_complete(at, cid, status);
        // Commands that were submitted under an earlier policy have no time.
        if submitted != Nanos::ZERO {
            self.policy.completed(class, submitted, at);
        }
    }

    /// Counts an entry that was read and belongs to no outstanding command.
    #[cold]
    fn pass_over(&mut self, fault: CompletionFault) -> CompletionFault {
        self.release();
        match fault.kind {
            FaultKind::Unknown => self.faults.unknown += 1,
            FaultKind::Stale => self.faults.stale += 1,
            FaultKind::Doubled => self.faults.doubled += 1,
        }
        self.trace_fault(fault);
        fault
    }

    /// Returns the faults of the device so far.
    pub fn faults(&self) -> Faults {
        self.faults
    }
}

impl<D: Device> Drop for QueuePair<D> {
    fn drop(&mut self) {
        let restored = self.interrupt.restore();
        let masked = restored.and_then(|()| self.interrupt.mask()).is_ok();
        let buffers = self.slots.take_buffers();
        let (deleted, held) = self.leave();
        // The vector's next owner must not find this queue's interrupts, nor one that is pending behind the mask.
        let (vector, redirected) = self.interrupt.leave();
        self.shared.take_back(self.id, vector, deleted && masked);
        if held && !(deleted && buffers.is_empty()) {
            // The device may still write there: held until CSTS.RDY = 0.
            self.shared.retire(Arc::clone(&self.memory), buffers);
        }
        if let Some(memory) = redirected {
            self.shared.retire(memory, Vec::new());
        }
    }
}
