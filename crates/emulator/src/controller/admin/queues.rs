//! Creating and deleting I/O queues (Base 5.4 to 5.7).

use super::super::EmulatedController;
use super::super::queues::{CompletionQueue, SubmissionQueue};
use crate::bell::Side;
use crate::guest::PAGE;
use joulio_nvme_spec::command::{CreateCompletionQueue, CreateSubmissionQueue, QueuePriority};
use joulio_nvme_spec::register::Cc;
use joulio_nvme_spec::{Command, CompletionEntry, Status};

/// Returns QID and QSIZE of dword 10 (Base figures 156 and 160).
fn identifier_and_entries(command: &Command) -> (u16, u32) {
    let dword10 = command.cdw10[0].get();
    (dword10 as u16, (dword10 >> 16) + 1)
}

impl EmulatedController {
    pub(super) fn create_completion_queue(&mut self, command: &Command) -> Result<u32, Status> {
        let (qid, entries) = identifier_and_entries(command);
        let flags = CreateCompletionQueue::from(command.cdw10[1].get());
        let max = self.features.queues.completion() + 1;
        if qid == 0 || qid > max || self.queues.completion(qid).is_some() {
            return Err(Status::INVALID_QUEUE_ID.do_not_retry());
        }
        if self.registers.completion_entry_shift() != Cc::CQES {
            return Err(Status::INVALID_QUEUE_SIZE.do_not_retry());
        }
        self.check_ring(command, entries, flags.pc(), size_of::<CompletionEntry>())?;
        if flags.ien() && flags.iv() >= self.interrupts.len() {
            return Err(Status::INVALID_INTERRUPT_VECTOR.do_not_retry());
        }
        let vector = flags.ien().then_some(flags.iv());
        let queue = CompletionQueue::new(command.prp1.get(), entries, vector);
        self.begin_doorbell(qid, Side::Head);
        self.queues.add_completion(qid, queue);
        Ok(0)
    }

    pub(super) fn create_submission_queue(&mut self, command: &Command) -> Result<u32, Status> {
        let (qid, entries) = identifier_and_entries(command);
        let flags = CreateSubmissionQueue::from(command.cdw10[1].get());
        let allocated = self.features.queues;
        let max = allocated.submission() + 1;
        if qid == 0 || qid > max || self.queues.submission(qid).is_some() {
            return Err(Status::INVALID_QUEUE_ID.do_not_retry());
        }
        let cqid = flags.cqid();
        if cqid == 0 || cqid > allocated.completion() + 1 {
            return Err(Status::INVALID_QUEUE_ID.do_not_retry());
        }
        if self.queues.completion(cqid).is_none() {
            return Err(Status::INVALID_COMPLETION_QUEUE.do_not_retry());
        }
        if self.registers.submission_entry_shift() != Cc::SQES {
            return Err(Status::INVALID_QUEUE_SIZE.do_not_retry());
        }
        self.check_ring(command, entries, flags.pc(), size_of::<Command>())?;
        let mut queue = SubmissionQueue::new(command.prp1.get(), entries, cqid);
        queue.priority = QueuePriority(flags.qprio());
        self.begin_doorbell(qid, Side::Tail);
        self.queues.add_submission(qid, queue);
        Ok(0)
    }

    /// Zeroes the doorbell of a queue that is created, and its shadow.
    fn begin_doorbell(&self, qid: u16, side: Side) {
        self.doorbells.clear_one(qid, side);
        if let Some(shadow) = self.doorbells.shadow() {
            shadow.begin(qid, side, 0);
        }
    }

    /// Checks that a ring is contiguous (CAP.CQR), begins on a page, and is mapped as a whole.
    fn check_ring(
        &self,
        command: &Command,
        entries: u32,
        contiguous: bool,
        entry: usize,
    ) -> Result<(), Status> {
        if entries < 2 || entries > self.registers.queue_entries() {
            return Err(Status::INVALID_QUEUE_SIZE.do_not_retry());
        }
        if !contiguous {
            return Err(Status::INVALID_FIELD.do_not_retry());
        }
        let base = command.prp1.get();
        if !base.is_multiple_of(PAGE) {
            return Err(Status::PRP_OFFSET_INVALID.do_not_retry());
        }
        if !self.guest.covers(base, u64::from(entries) * entry as u64) {
            return Err(Status::INVALID_FIELD.do_not_retry());
        }
        Ok(())
    }

    pub(super) fn delete_completion_queue(&mut self, command: &Command) -> Result<u32, Status> {
        let (qid, _) = identifier_and_entries(command);
        let Some(queue) = self.queues.completion(qid).filter(|_| qid != 0) else {
            return Err(Status::INVALID_QUEUE_ID.do_not_retry());
        };
        if queue.users > 0 {
            return Err(Status::INVALID_QUEUE_DELETION.do_not_retry());
        }
        self.queues.remove_completion(qid);
        if let Some(faults) = &mut self.faults {
            faults.forget_completions(qid);
        }
        self.doorbells.clear_one(qid, Side::Head);
        Ok(0)
    }

    /// Deletes a submission queue. Commands in service are aborted, each with a completion if there is room for it: a
    /// host has to treat those without one as aborted too (Base 3.3.1.3).
    pub(super) fn delete_submission_queue(&mut self, command: &Command) -> Result<u32, Status> {
        let (qid, _) = identifier_and_entries(command);
        let Some(queue) = self.queues.submission(qid).filter(|_| qid != 0) else {
            return Err(Status::INVALID_QUEUE_ID.do_not_retry());
        };
        let cqid = queue.cqid;
        let mut aborted = self.in_service.remove(qid);
        if let Some(faults) = &mut self.faults {
            aborted.extend(faults.remove(qid));
        }
        for cid in aborted {
            if self.has_room(cqid) {
                self.complete(qid, cid, Err(Status::ABORTED_SQ_DELETION));
            }
        }
        self.queues.remove_submission(qid);
        self.doorbells.clear_one(qid, Side::Tail);
        Ok(0)
    }
}
