//! A job's work on one of its devices.

use super::in_flight::InFlight;
use super::parts::Worker;
use crate::pattern::Pattern;
use crate::share::Share;
use crate::verify::Ledger;
use joulio_job::{IoStatistics, Schedule, VerifyResult};
use joulio_units::{Direction, Nanos};

/// A device ready for I/O: what stands there, and memory for as many I/Os as the queue depth.
pub(super) struct Prepared<B> {
    pub(super) buffers: Vec<B>,
    /// Content of the device, if data is verified.
    pub(super) ledger: Option<Ledger>,
}

/// A job's work on one of its devices: the next I/O, those in flight, those done.
pub(super) struct DeviceWork<B> {
    /// True if blocks that were not written yet may be.
    may_write: bool,
    pattern: Pattern,
    pub(super) schedule: Schedule,
    pub(super) ledger: Option<Ledger>,
    pub(super) in_flight: InFlight,
    /// Buffers of no I/O in flight.
    pub(super) buffers: Vec<B>,
    /// I/Os issued in the ramp, or else in the measured part.
    pub(super) issued: u64,
    pub(super) checked: VerifyResult,
    pub(super) read: IoStatistics,
    pub(super) write: IoStatistics,
}

impl<B> DeviceWork<B> {
    pub(super) fn new(
        worker: &Worker<'_>,
        share: &Share,
        prepared: Prepared<B>,
        start: Nanos,
    ) -> DeviceWork<B> {
        let (job, number) = (worker.job, share.assignment.index);
        DeviceWork {
            may_write: share.may_write,
            pattern: Pattern::new(job, number, share.blocks.clone()),
            schedule: Schedule::of_assignment(job, worker.index, share.assignment, start),
            ledger: prepared.ledger,
            in_flight: InFlight::new(prepared.buffers.len()),
            buffers: prepared.buffers,
            issued: 0,
            checked: VerifyResult::default(),
            read: IoStatistics::new(),
            write: IoStatistics::new(),
        }
    }

    /// Forgets the I/Os of the ramp.
    pub(super) fn begin(&mut self) {
        self.issued = 0;
        self.read.clear();
        self.write.clear();
    }

    /// The first of the next `len` blocks; with verification, the next that no I/O is on. There is one, because
    /// a share has at least as many blocks as the job has I/Os.
    #[inline]
    pub(super) fn block(&mut self, len: u64) -> u64 {
        let mut block = self.pattern.block(len);
        if let Some(ledger) = &mut self.ledger {
            while !ledger.claim(block) {
                block = self.pattern.after(block);
            }
        }
        block
    }

    /// Reports whether what is read of `block` can be checked.
    pub(super) fn is_known(&self, ledger: &Ledger, block: u64) -> bool {
        !self.may_write || ledger.written(block)
    }

    pub(super) fn statistics(&mut self, direction: Direction) -> &mut IoStatistics {
        match direction {
            Direction::Write => &mut self.write,
            _ => &mut self.read,
        }
    }
}
