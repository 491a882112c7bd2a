//! The loop of one job: issue, wait, record.

use super::Worker;
use super::in_flight::{InFlight, InFlightIo};
use super::job_meter::JobMeter;
use crate::control::{CHECK_INTERVAL, MAX_WAIT_AFTER_STOP};
use crate::engine::{IoError, Traced};
use crate::job_result::JobResult;
use crate::pass::check;
use crate::pattern::Pattern;
use crate::protocol::JobMessage;
use crate::verify::Ledger;
use crate::worker_error::{WorkerError, failed};
use joulio_engine::{Buffer, Completion, Engine, Request};
use joulio_job::{IoStatistics, Schedule, VerifyResult};
use joulio_nvme::wait::now;
use joulio_units::{Direction, Nanos};
use std::sync::atomic::Ordering;

/// Result of the loop, and what verification goes on with.
pub(super) struct Measured<B> {
    pub(super) result: JobResult,
    pub(super) buffers: Vec<B>,
    pub(super) ledger: Option<Ledger>,
    /// Blocks whose content was checked as they were read.
    pub(super) checked: VerifyResult,
}

/// The loop: first the ramp, whose I/Os do not count, then the measured part.
pub(super) struct IoLoop<'a, E: Engine> {
    worker: &'a Worker<'a>,
    engine: &'a mut E,
    pattern: Pattern,
    schedule: Schedule,
    ledger: Option<Ledger>,
    in_flight: InFlight,
    /// Buffers of no I/O in flight.
    buffers: Vec<E::Buffer>,
    completed: Vec<Completion<E::Buffer, E::Failure>>,
    ramp_end: Nanos,
    end: Nanos,
    issued: u64,
    measuring: bool,
    meter: JobMeter,
    checked: VerifyResult,
    result: JobResult,
}

impl<'a, E: Traced> IoLoop<'a, E> {
    pub(super) fn new(
        worker: &'a Worker<'a>,
        engine: &'a mut E,
        buffers: Vec<E::Buffer>,
        ledger: Option<Ledger>,
        meter: JobMeter,
        start: Nanos,
    ) -> Self {
        let depth = buffers.len();
        let ramp_end = start + worker.job.ramp_time;
        let runtime = worker.job.runtime;
        IoLoop {
            worker,
            engine,
            pattern: Pattern::new(worker.job, worker.index, worker.share.clone()),
            schedule: Schedule::new(worker.job, worker.index, start),
            ledger,
            in_flight: InFlight::new(depth),
            buffers,
            completed: Vec::with_capacity(depth),
            ramp_end,
            end: runtime.map_or(Nanos::MAX, |runtime| ramp_end + runtime),
            issued: 0,
            measuring: false,
            meter,
            checked: VerifyResult::default(),
            result: JobResult::new(worker.index, start),
        }
    }

    /// Runs to the end of the measured part.
    pub(super) fn run(mut self) -> Result<Measured<E::Buffer>, WorkerError> {
        let mut give_up = None;
        loop {
            let mut at = now();
            if !self.measuring && at >= self.ramp_end {
                self.begin()?;
                // Beginning took its time, which is nobody's latency.
                at = now();
            }
            let issuing = self.issuing(at);
            if issuing {
                self.issue(at)?;
                self.engine.submit().map_err(failed)?;
            }
            if self.in_flight.is_empty() && !issuing {
                break;
            }
            if !issuing
                && self.worker.stop.stopped()
                && at >= *give_up.get_or_insert(at + MAX_WAIT_AFTER_STOP)
            {
                if !self.measuring {
                    // Stopped in the ramp, whose I/Os do not count: these do.
                    self.begin()?;
                }
                self.abandon();
                break;
            }
            let deadline = self.deadline(at, issuing);
            let completed = &mut self.completed;
            let reaped = self.engine.reap(1, deadline, |one| completed.push(one));
            reaped.map_err(failed)?;
            self.record();
        }
        self.finish()
    }

    /// Begins the measured part: what came before does not count.
    fn begin(&mut self) -> Result<(), WorkerError> {
        self.measuring = true;
        self.worker.report(JobMessage::Began)?;
        self.issued = 0;
        self.result.read.clear();
        self.result.write.clear();
        self.result.first_error = None;
        let trace = self.worker.trace;
        self.meter.begin(self.engine, trace, &mut self.result);
        Ok(())
    }

    /// Gives up the I/Os in flight: their buffers stay with the engine, which ends with the job.
    fn abandon(&mut self) {
        self.engine.abandon();
        for io in self.in_flight.iter() {
            // Nobody knows what stands there now.
            if let Some(ledger) = &mut self.ledger
                && io.direction == Direction::Write
            {
                ledger.forget(io.block);
            }
            statistics(&mut self.result, io.direction).errors += 1;
            self.result
                .first_error
                .get_or_insert_with(|| io.describe(self.worker.bs, IoError::Unfinished));
        }
    }

    fn finish(mut self) -> Result<Measured<E::Buffer>, WorkerError> {
        if !self.measuring {
            // Stopped in the ramp: there is nothing.
            self.begin()?;
        }
        self.result.unissued = self.unissued();
        self.meter.finish(self.engine, &mut self.result);
        Ok(Measured {
            result: self.result,
            buffers: self.buffers,
            ledger: self.ledger,
            checked: self.checked,
        })
    }

    /// Arrivals of an open loop that were due and were not issued.
    fn unissued(&self) -> u64 {
        let left = |n: u64| n - self.issued.min(n);
        let wanted = self.worker.job.number_ios.map_or(u64::MAX, left);
        self.schedule.clone().left(self.end.min(now()), wanted)
    }

    fn issuing(&self, at: Nanos) -> bool {
        let enough = self.measuring && self.worker.job.number_ios.is_some_and(|n| self.issued >= n);
        at < self.end && !enough && !self.worker.stop.stopped()
    }

    /// Time until which to wait for a completion: the next check for a stop; in an open loop also
    /// the next arrival that can go out, and the end of the ramp or of the measured part.
    fn deadline(&self, at: Nanos, issuing: bool) -> Nanos {
        let check = at + CHECK_INTERVAL;
        let next = self.schedule.next();
        if next == Nanos::MAX || !issuing || self.in_flight.is_full() {
            return check;
        }
        let turn = if self.measuring {
            self.end
        } else {
            self.ramp_end
        };
        check.min(next).min(turn)
    }

    /// Issues all that is due and has a free buffer.
    fn issue(&mut self, at: Nanos) -> Result<(), WorkerError> {
        let limit = self.worker.job.number_ios.filter(|_| self.measuring);
        while !self.in_flight.is_full() {
            if limit.is_some_and(|n| self.issued >= n) {
                break;
            }
            let Some(mut due) = self.schedule.due(at) else {
                break;
            };
            let direction = due.direction;
            let block = self.block();
            let Some(mut buffer) = self.buffers.pop() else {
                break;
            };
            if direction == Direction::Write
                && let Some(ledger) = &mut self.ledger
            {
                buffer.copy_from(ledger.fill(block));
                if due.closed {
                    // Making the data took the host's time, not the device's.
                    due.arrival = now();
                }
            }
            let Some(tag) = self.in_flight.start(InFlightIo {
                arrival: due.arrival,
                block,
                len: due.len,
                direction,
                measured: self.measuring,
            }) else {
                break;
            };
            let request = Request {
                direction,
                offset: block * self.worker.bs,
                len: due.len,
                tag,
            };
            if !due.closed && at > due.arrival {
                self.engine.waited(at - due.arrival);
            }
            self.engine.prepare(request, buffer).map_err(failed)?;
            self.issued += 1;
        }
        Ok(())
    }

    /// The next block; with verification, the next that no I/O is on. There is one, because a
    /// share has at least as many blocks as the job has I/Os.
    fn block(&mut self) -> u64 {
        let mut block = self.pattern.block();
        if let Some(ledger) = &mut self.ledger {
            while !ledger.claim(block) {
                block = self.pattern.after(block);
            }
        }
        block
    }

    /// Records what completed.
    fn record(&mut self) {
        let at = now();
        let mut completed = std::mem::take(&mut self.completed);
        for completion in completed.drain(..) {
            self.record_one(completion, at);
        }
        self.completed = completed;
        let ios = self.result.read.ios + self.result.write.ios;
        self.worker.progress.store(ios, Ordering::Relaxed);
    }

    fn record_one(&mut self, completion: Completion<E::Buffer, E::Failure>, at: Nanos) {
        let Some(io) = self.in_flight.end(completion.tag) else {
            return;
        };
        let bs = self.worker.bs;
        let outcome = completion.outcome.map_err(Into::into);
        // The ramp's do not count, though they end in the measured part.
        if !self.measuring || io.measured {
            let statistics = statistics(&mut self.result, io.direction);
            match outcome {
                Ok(()) => statistics.success(at - io.arrival, io.len.into()),
                Err(error) => {
                    statistics.errors += 1;
                    let first = &mut self.result.first_error;
                    first.get_or_insert_with(|| io.describe(bs, error));
                }
            }
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.release(io.block);
            match (io.direction, outcome) {
                (Direction::Read, Ok(())) if !self.worker.may_write || ledger.written(io.block) => {
                    check(ledger, &completion.buffer, io.block, &mut self.checked);
                }
                (Direction::Write, Err(_)) => ledger.forget(io.block),
                _ => {}
            }
        }
        self.buffers.push(completion.buffer);
    }
}

fn statistics(result: &mut JobResult, direction: Direction) -> &mut IoStatistics {
    match direction {
        Direction::Write => &mut result.write,
        _ => &mut result.read,
    }
}
