//! A job's work on one of its devices.

use super::content::Content;
use super::flush_turn::FlushTurn;
use super::in_flight::{InFlight, InFlightIo};
use super::parts::Worker;
use crate::engine::RequestError;
use crate::io_totals::IoTotals;
use crate::pass::check;
use crate::pattern::Pattern;
use crate::share::Share;
use crate::verify::Ledger;
use joulio_engine::Buffer;
use joulio_job::{Schedule, VerifyResult};
use joulio_units::{Direction, Nanos, Operation};
use std::collections::VecDeque;

/// A device ready for I/O: its ledger, and as many buffers as the queue depth.
pub(super) struct Prepared<B> {
    pub(super) buffers: Vec<B>,
    /// Ledger of the device's blocks, if data is verified.
    pub(super) ledger: Option<Ledger>,
    /// Content of the buffers, if reads overwrite it before writes.
    pub(super) content: Option<Content>,
}

/// An I/O that is due.
pub(super) struct NextIo {
    pub(super) operation: Operation,
    /// First block; meaningless for a flush.
    pub(super) block: u64,
    /// Bytes.
    pub(super) len: u32,
    /// Time from which its latency is counted.
    pub(super) arrival: Nanos,
    /// True if the I/O arrives at the time when it is created.
    pub(super) closed: bool,
}

impl NextIo {
    /// Returns a flush that is created at `at`.
    pub(super) fn flush(operation: Operation, at: Nanos) -> NextIo {
        NextIo {
            operation,
            block: 0,
            len: 0,
            arrival: at,
            closed: true,
        }
    }
}

/// A job's work on one of its devices: the next I/O, the I/Os in flight, and the completed ones.
pub(super) struct DeviceWork<B> {
    /// True if unwritten blocks may be written.
    may_write: bool,
    /// True if all I/Os are trims.
    only_trims: bool,
    /// True if each block is trimmed and then written.
    trims_and_writes: bool,
    /// Bytes of a block, if I/Os may have several blocks; `None`: each I/O has one block.
    drawn: Option<u64>,
    pattern: Pattern,
    flush_turn: FlushTurn,
    /// First block and length of the trims that have ended and whose writes have not been issued.
    trimmed: VecDeque<(u64, u32)>,
    pub(super) schedule: Schedule,
    pub(super) ledger: Option<Ledger>,
    pub(super) content: Option<Content>,
    pub(super) in_flight: InFlight<B>,
    /// Number of I/Os issued in the present part, ramp or measured; a trim and its write count once.
    pub(super) issued: u64,
    pub(super) checked: VerifyResult,
    pub(super) totals: IoTotals,
}

impl<B> DeviceWork<B> {
    pub(super) fn new(
        worker: &Worker<'_>,
        share: &Share,
        prepared: Prepared<B>,
        start: Nanos,
    ) -> DeviceWork<B> {
        let (job, number) = (worker.job, share.assignment.index);
        let depth = prepared.buffers.len();
        let spacing = job.spacing(worker.index);
        DeviceWork {
            may_write: share.may_write,
            only_trims: job.rw.only_trims(),
            trims_and_writes: job.rw.trims_and_writes(),
            drawn: (job.split().is_some() || job.block_align.is_some()).then_some(spacing),
            pattern: Pattern::new(job, number, share.blocks.clone(), spacing),
            flush_turn: FlushTurn::new(job.flushes),
            trimmed: VecDeque::with_capacity(depth),
            schedule: Schedule::of_assignment(job, worker.index, share.assignment, start),
            ledger: prepared.ledger,
            content: prepared.content,
            in_flight: InFlight::new(prepared.buffers),
            issued: 0,
            checked: VerifyResult::default(),
            totals: IoTotals::default(),
        }
    }

    /// Discards the counts of the ramp.
    pub(super) fn begin(&mut self) {
        self.issued = 0;
        self.totals.clear();
    }

    /// Returns true if there are I/Os left to issue, out of `limit` in all.
    #[inline]
    pub(super) fn has_more(&self, limit: u64) -> bool {
        self.issued < limit || !self.trimmed.is_empty()
    }

    /// Returns the I/O to issue at `at`, if one is due; `limit` is the number of all.
    #[inline(always)]
    pub(super) fn next_io(&mut self, at: Nanos, limit: u64) -> Option<NextIo> {
        if !self.has_more(limit) {
            return None;
        }
        if let Some(operation) = self.flush_turn.next() {
            return Some(NextIo::flush(operation, at));
        }
        let due = self.schedule.due(at)?;
        let mut next = NextIo {
            operation: match due.direction {
                Direction::Write => Operation::Write,
                _ => Operation::Read,
            },
            block: 0,
            len: due.len,
            arrival: due.arrival,
            closed: due.closed,
        };
        if self.only_trims || self.trims_and_writes {
            if let Some(trimmed) = self.trimmed.pop_front() {
                (next.block, next.len) = trimmed;
                self.flush_turn.wrote();
                return Some(next);
            }
            next.operation = Operation::Trim;
        } else if next.operation == Operation::Write {
            self.flush_turn.wrote();
        }
        let blocks = match self.drawn {
            Some(spacing) => u64::from(due.len).div_ceil(spacing),
            None => 1,
        };
        next.block = self.block(blocks);
        self.issued += 1;
        Some(next)
    }

    /// Draws the next I/O's block ahead, if it is random.
    #[inline]
    pub(super) fn draw_ahead(&mut self) {
        self.pattern.draw_ahead();
    }

    /// Returns the first of the next `len` blocks; with verification, the next without an I/O in flight. There is
    /// one, because a share has at least as many blocks as the job has I/Os in flight.
    #[inline]
    fn block(&mut self, len: u64) -> u64 {
        let mut block = self.pattern.block(len);
        if let Some(ledger) = &mut self.ledger {
            while !ledger.claim(block) {
                block = self.pattern.after(block);
            }
        }
        block
    }

    /// Notes that a trim of `len` bytes from `block` on has completed: a write follows it, if the job does both.
    #[inline]
    pub(super) fn trimmed(&mut self, block: u64, len: u32) {
        if self.trims_and_writes {
            self.trimmed.push_back((block, len));
        }
    }
}

impl<B: Buffer> DeviceWork<B> {
    /// Verifies the data of a read that has completed, in `buffer`, and notes in the ledger what the other I/Os did.
    #[inline(never)]
    pub(super) fn verify(
        &mut self,
        io: &InFlightIo,
        outcome: Result<(), RequestError>,
        buffer: &B,
        share: &Share,
    ) {
        let Some(ledger) = &mut self.ledger else {
            return;
        };
        let is_free = match io.operation {
            Operation::Read | Operation::Write => true,
            Operation::Trim => !self.trims_and_writes,
            // A flush has no block.
            Operation::Sync | Operation::DataSync => false,
        };
        if is_free {
            ledger.release(io.block);
        }
        match (io.operation, outcome) {
            (Operation::Read, Ok(())) if !self.may_write || ledger.written(io.block) => {
                check(ledger, buffer, io.block, &mut self.checked, share);
            }
            (Operation::Write, Err(_)) | (Operation::Trim, _) => ledger.forget(io.block),
            _ => {}
        }
    }

    /// Fills `buffer`, which is that of `slot`, for a write to `block`; returns false if it has its content already.
    #[inline]
    pub(super) fn fill(&mut self, slot: u64, block: u64, buffer: &mut B) -> bool {
        if let Some(ledger) = &mut self.ledger {
            buffer.copy_from(ledger.fill(block));
            return true;
        }
        match &self.content {
            Some(content) if self.in_flight.is_overwritten(slot) => {
                buffer.copy_from(content.of(slot));
                true
            }
            _ => false,
        }
    }
}
