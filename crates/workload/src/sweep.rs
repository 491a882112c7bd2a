//! Passes over all blocks of a job, before and after it: laying out what reads are to find, and
//! reading back what was written.

use crate::control::{CHECK_INTERVAL, MAX_WAIT_AFTER_STOP};
use crate::engine::{IoError, Traced};
use crate::verify::Ledger;
use crate::worker::{Worker, WorkerError, failed};
use joulio_engine::{Buffer, Request};
use joulio_job::VerifyResult;
use joulio_nvme::wait::now;
use joulio_units::Direction;

pub(crate) fn check<B: Buffer>(
    ledger: &mut Ledger,
    buffer: &B,
    block: u64,
    into: &mut VerifyResult,
) {
    buffer.copy_to(ledger.scratch());
    into.blocks += 1;
    if let Err(mismatch) = ledger.check(block) {
        into.errors += 1;
        into.first_error.get_or_insert_with(|| mismatch.to_string());
    }
}

/// Writes every block of the share, so that reads find something to verify.
pub(crate) fn lay_out<E: Traced>(
    engine: &mut E,
    buffers: Vec<E::Buffer>,
    ledger: &mut Ledger,
    worker: &Worker<'_>,
) -> Result<Vec<E::Buffer>, WorkerError> {
    let mut first_error = None;
    let sweep = Sweep {
        worker,
        direction: Direction::Write,
    };
    let buffers = sweep.run(
        engine,
        buffers,
        ledger,
        worker.share.clone(),
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

/// Reads every block that the job wrote, and checks it.
pub(crate) fn read_back<E: Traced>(
    engine: &mut E,
    buffers: Vec<E::Buffer>,
    ledger: &mut Ledger,
    worker: &Worker<'_>,
    checked: &mut VerifyResult,
) -> Result<(), WorkerError> {
    let written: Vec<u64> = worker
        .share
        .clone()
        .filter(|&block| ledger.written(block))
        .collect();
    let sweep = Sweep {
        worker,
        direction: Direction::Read,
    };
    sweep.run(
        engine,
        buffers,
        ledger,
        written,
        |ledger, block, outcome, buffer| match outcome {
            Ok(()) => check(ledger, buffer, block, checked),
            Err(error) => {
                checked.blocks += 1;
                checked.errors += 1;
                checked
                    .first_error
                    .get_or_insert_with(|| format!("block {block}: {error}"));
            }
        },
    )?;
    Ok(())
}

/// Goes over blocks once, at the job's depth.
struct Sweep<'a> {
    worker: &'a Worker<'a>,
    direction: Direction,
}

impl Sweep<'_> {
    fn run<E: Traced>(
        &self,
        engine: &mut E,
        mut buffers: Vec<E::Buffer>,
        ledger: &mut Ledger,
        blocks: impl IntoIterator<Item = u64>,
        mut each: impl FnMut(&mut Ledger, u64, Result<(), IoError>, &E::Buffer),
    ) -> Result<Vec<E::Buffer>, WorkerError> {
        let all = buffers.len();
        let bs = self.worker.bs;
        let mut blocks = blocks.into_iter();
        let mut ended = Vec::with_capacity(all);
        let mut last_wait = None;
        loop {
            while !self.worker.stop.stopped()
                && let Some(mut buffer) = buffers.pop()
            {
                let Some(block) = blocks.next() else {
                    buffers.push(buffer);
                    break;
                };
                if self.direction == Direction::Write {
                    buffer.copy_from(ledger.fill(block));
                }
                let request = Request {
                    direction: self.direction,
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
            if self.worker.stop.stopped()
                && at >= *last_wait.get_or_insert(at + MAX_WAIT_AFTER_STOP)
            {
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
