//! Passes over all blocks of a job, before and after it: laying out what reads are to find, and
//! reading back what was written.

use crate::engine::{Buffer, Done, Engine, Io};
use crate::looped::{LAST_WAIT, LOOK, Worker, WorkerError};
use crate::result::VerifyResult;
use crate::verify::Ledger;
use joulio_nvme::wait::now;
use joulio_units::Direction;

pub(crate) fn check<B: Buffer>(
    ledger: &mut Ledger,
    buffer: &B,
    block: u64,
    into: &mut VerifyResult,
) {
    buffer.read(ledger.scratch());
    into.blocks += 1;
    if let Err(mismatch) = ledger.check(block) {
        into.errors += 1;
        into.first_error.get_or_insert_with(|| mismatch.to_string());
    }
}

/// Writes every block of the share, so that reads find something to verify.
pub(crate) fn lay_out<E: Engine>(
    engine: &mut E,
    buffers: Vec<E::Buffer>,
    ledger: &mut Ledger,
    worker: &Worker<'_>,
) -> Result<Vec<E::Buffer>, WorkerError> {
    let mut failed = None;
    let sweep = Sweep {
        worker,
        direction: Direction::Write,
    };
    let buffers = sweep.run(
        engine,
        buffers,
        ledger,
        worker.share.clone(),
        |ledger, block, done| {
            if let Err(error) = done.outcome {
                ledger.forget(block);
                failed.get_or_insert(error);
            }
        },
    )?;
    match failed {
        Some(error) => Err(WorkerError::Layout(error)),
        None => Ok(buffers),
    }
}

/// Reads every block that the job wrote, and checks it.
pub(crate) fn read_back<E: Engine>(
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
        |ledger, block, done| match done.outcome {
            Ok(()) => check(ledger, &done.buffer, block, checked),
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
    fn run<E: Engine>(
        &self,
        engine: &mut E,
        mut buffers: Vec<E::Buffer>,
        ledger: &mut Ledger,
        blocks: impl IntoIterator<Item = u64>,
        mut each: impl FnMut(&mut Ledger, u64, &Done<E::Buffer>),
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
                    buffer.write(ledger.fill(block));
                }
                let io = Io {
                    direction: self.direction,
                    offset: block * bs,
                    len: bs as u32,
                    tag: block,
                };
                engine.prepare(io, buffer)?;
            }
            engine.submit()?;
            if buffers.len() == all {
                return Ok(buffers);
            }
            let at = now();
            if self.worker.stop.stopped() && at >= *last_wait.get_or_insert(at + LAST_WAIT) {
                return Err(WorkerError::Unfinished {
                    requests: all - buffers.len(),
                });
            }
            engine.reap(1, now() + LOOK, |done| ended.push(done))?;
            for done in ended.drain(..) {
                each(ledger, done.tag, &done);
                buffers.push(done.buffer);
            }
        }
    }
}
