//! Passes over all blocks of a job: before the job to write the data that reads verify, after it to read back what
//! it wrote.

use crate::Stop;
use crate::control::{CHECK_INTERVAL, MAX_WAIT_AFTER_STOP};
use crate::engine::{RequestError, Traced};
use crate::share::Share;
use crate::verify::Ledger;
use crate::worker_error::{WorkerError, failed};
use joulio_engine::{Buffer, Request};
use joulio_job::VerifyResult;
use joulio_nvme::wait::now;
use joulio_units::Operation;

pub(crate) fn check<B: Buffer>(
    ledger: &mut Ledger,
    buffer: &B,
    block: u64,
    into: &mut VerifyResult,
    share: &Share,
) {
    buffer.copy_to(ledger.scratch());
    into.blocks += 1;
    if let Err(mismatch) = ledger.check(block) {
        into.errors += 1;
        let first = &mut into.first_error;
        first.get_or_insert_with(|| share.describe(mismatch));
    }
}

/// Passes over a job's blocks on one device, each at the job's queue depth.
pub(crate) struct Pass<'a> {
    /// Number of the device among those of the job, from 0.
    pub(crate) device: usize,
    /// The job's share of the device.
    pub(crate) share: &'a Share,
    pub(crate) bs: u64,
    pub(crate) stop: &'a Stop,
}

impl Pass<'_> {
    /// Writes every block of the share, so that reads have data to verify.
    pub(crate) fn lay_out<E: Traced>(
        &self,
        engine: &mut E,
        buffers: Vec<E::Buffer>,
        ledger: &mut Ledger,
    ) -> Result<Vec<E::Buffer>, WorkerError> {
        let mut first_error = None;
        let buffers = self.run(
            Operation::Write,
            engine,
            buffers,
            ledger,
            |ledger, block, outcome, _| {
                if let Err(error) = outcome {
                    ledger.forget(block);
                    first_error.get_or_insert(error);
                }
            },
        )?;
        match first_error {
            Some(error) => Err(WorkerError::Layout(error)),
            None => Ok(buffers),
        }
    }

    /// Reads back every block that the job wrote, and verifies it.
    pub(crate) fn read_back<E: Traced>(
        &self,
        engine: &mut E,
        buffers: Vec<E::Buffer>,
        ledger: &mut Ledger,
        checked: &mut VerifyResult,
    ) -> Result<(), WorkerError> {
        self.run(
            Operation::Read,
            engine,
            buffers,
            ledger,
            |ledger, block, outcome, buffer| match outcome {
                Ok(()) => check(ledger, buffer, block, checked, self.share),
                Err(error) => {
                    checked.blocks += 1;
                    checked.errors += 1;
                    checked.first_error.get_or_insert_with(|| {
                        self.share.describe(format_args!("block {block}: {error}"))
                    });
                }
            },
        )?;
        Ok(())
    }

    /// Writes all blocks of the share, or reads those that the job has written.
    fn run<E: Traced>(
        &self,
        operation: Operation,
        engine: &mut E,
        mut buffers: Vec<E::Buffer>,
        ledger: &mut Ledger,
        mut each: impl FnMut(&mut Ledger, u64, Result<(), RequestError>, &E::Buffer),
    ) -> Result<Vec<E::Buffer>, WorkerError> {
        let all = buffers.len();
        let bs = self.bs;
        let mut blocks = self.share.blocks.clone();
        let mut ended = Vec::with_capacity(all);
        let mut last_wait = None;
        loop {
            while !self.stop.stopped()
                && let Some(mut buffer) = buffers.pop()
            {
                let wanted = |&block: &u64| operation == Operation::Write || ledger.written(block);
                let Some(block) = blocks.find(wanted) else {
                    buffers.push(buffer);
                    break;
                };
                if operation == Operation::Write {
                    buffer.copy_from(ledger.fill(block));
                }
                let request = Request {
                    device: self.device,
                    operation,
                    offset: block * bs,
                    len: bs as u32,
                    tag: block,
                };
                engine.prepare(request, buffer).map_err(failed)?;
            }
            engine.submit().map_err(failed)?;
            if buffers.len() == all {
                return Ok(buffers);
            }
            let at = now();
            if self.stop.stopped() && at >= *last_wait.get_or_insert(at + MAX_WAIT_AFTER_STOP) {
                engine.abandon();
                return Err(WorkerError::Unfinished {
                    requests: all - buffers.len(),
                });
            }
            engine
                .reap(1, now() + CHECK_INTERVAL, |done| ended.push(done))
                .map_err(failed)?;
            for done in ended.drain(..) {
                let outcome = done.outcome.map_err(Into::into);
                each(ledger, done.tag, outcome, &done.buffer);
                buffers.push(done.buffer);
            }
        }
    }
}
