//! Posting completions into the host's memory (Base 3.3.1.2 and 4.2).

use super::EmulatedController;
use joulio_nvme_spec::log::ErrorInformation;
use joulio_nvme_spec::{CompletionEntry, Status};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

impl EmulatedController {
    /// Completes a command of submission queue `sqid`.
    #[inline]
    pub(super) fn complete(&mut self, sqid: u16, cid: u16, result: Result<u32, Status>) {
        if self.faults.is_some() {
            self.complete_or_not(sqid, cid, result);
        } else if let Some((cqid, completion)) = self.answer(sqid, cid, result) {
            if self.has_room(cqid) {
                self.post(cqid, completion);
            } else {
                self.hold(cqid, completion);
            }
        }
    }

    /// Makes the completion of a command of submission queue `sqid`; returns it with its completion queue.
    #[inline]
    pub(super) fn answer(
        &mut self,
        sqid: u16,
        cid: u16,
        result: Result<u32, Status>,
    ) -> Option<(u16, CompletionEntry)> {
        let (status, dw0) = match result {
            Ok(dw0) => (Status::SUCCESS, dw0),
            Err(status) => (status, 0),
        };
        if !status.is_success() {
            self.activity.failed_commands += 1;
        }
        let queue = self.queues.submission(sqid)?;
        let completion = CompletionEntry {
            dw0: U32::new(dw0),
            dw1: U32::ZERO,
            sqhd: U16::new(queue.head as u16),
            sqid: U16::new(sqid),
            cid: U16::new(cid),
            status: U16::new(status.field() << 1),
        };
        Some((queue.cqid, completion))
    }

    /// Keeps a completion until there is room for it in queue `cqid`.
    pub(super) fn hold(&mut self, cqid: u16, completion: CompletionEntry) {
        if let Some(queue) = self.queues.completion(cqid) {
            queue.held.push_back(completion);
            self.queues.held += 1;
        }
    }

    /// Logs a failed command (Base 5.16.1.2).
    #[cold]
    pub(super) fn log_failure(&mut self, sqid: u16, cid: u16, nsid: u32, lba: u64, status: Status) {
        self.errors.add(ErrorInformation {
            sqid: U16::new(sqid),
            cid: U16::new(cid),
            status: U16::new(status.field() << 1),
            parameter_error_location: U16::new(0xffff),
            lba: lba.into(),
            nsid: U32::new(nsid),
            ..Default::default()
        });
    }

    /// Whether completion queue `qid` can take an entry now, and none waits before it.
    #[inline]
    pub(super) fn has_room(&mut self, qid: u16) -> bool {
        let Some(queue) = self.queues.completion(qid) else {
            return false;
        };
        if !queue.held.is_empty() {
            return false;
        }
        if !queue.is_full() {
            return true;
        }
        self.poll_head(qid);
        self.queues.completion(qid).is_some_and(|q| !q.is_full())
    }

    /// Posts the completion of a command to queue `cqid`, which has room.
    #[inline]
    pub(super) fn post(&mut self, cqid: u16, completion: CompletionEntry) {
        self.leave(completion.sqid.get());
        self.put(cqid, completion, true);
    }

    /// Counts a command of submission queue `sqid` as no longer in service.
    #[inline]
    pub(super) fn leave(&mut self, sqid: u16) {
        if let Some(queue) = self.queues.submission(sqid) {
            queue.in_service = queue.in_service.saturating_sub(1);
        }
    }

    /// Writes an entry to queue `cqid`, which has room: dword 3, which makes it valid, last. The `interrupt` is raised
    /// when the step ends.
    #[inline]
    pub(super) fn put(&mut self, cqid: u16, mut completion: CompletionEntry, interrupt: bool) {
        let Some(queue) = self.queues.completion(cqid) else {
            return;
        };
        let (at, phase) = queue.advance();
        let vector = queue.vector.filter(|_| interrupt);
        completion.status = U16::new(completion.status.get() | u16::from(phase));
        let segment = match self.guest.locate(at, size_of::<CompletionEntry>()) {
            Ok(segment) if self.guest.writable(&[segment]) => segment,
            _ => {
                self.registers.fail();
                return;
            }
        };
        let (memory, offset) = self.guest.memory(segment);
        let bytes = completion.as_bytes();
        memory.write(offset, &bytes[..CompletionEntry::DWORD3]);
        let dword3 = u32::from(completion.cid.get()) | u32::from(completion.status.get()) << 16;
        memory.store_u32(offset + CompletionEntry::DWORD3, dword3.to_le());
        self.posted += 1;
        if let Some(vector) = vector {
            self.interrupts.note(vector, self.now, cqid == 0);
        }
    }

    /// Posts completions that found their queue full, as far as there is room by now.
    #[inline]
    pub(super) fn release_held(&mut self) {
        if self.queues.held == 0 {
            return;
        }
        for qid in 0..self.doorbells.pairs() {
            self.poll_head(qid);
            while let Some(queue) = self.queues.completion(qid)
                && !queue.is_full()
                && let Some(completion) = queue.held.pop_front()
            {
                self.queues.held -= 1;
                if self.faults.is_some() {
                    self.post_with_faults(qid, completion);
                } else {
                    self.post(qid, completion);
                }
            }
        }
    }

    /// Completes Asynchronous Event Requests, as far as there are events to report.
    #[inline]
    pub(super) fn report_events(&mut self) {
        // A controller that has failed meanwhile reports no more.
        while self.registers.running()
            && !self.is_admin_stuck()
            && let Some((cid, dw0)) = self.events.take()
        {
            if let Some(queue) = self.queues.submission(0) {
                queue.in_service += 1;
            }
            self.complete(0, cid, Ok(dw0));
        }
    }
}
