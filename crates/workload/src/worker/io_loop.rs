//! The run loop of one job.

use super::device_work::{DeviceWork, NextIo, Prepared};
use super::in_flight::InFlightIo;
use super::job_meter::JobMeter;
use super::parts::Worker;
use super::works::{Ended, Works, tag};
use crate::control::{CHECK_INTERVAL, MAX_WAIT_AFTER_STOP};
use crate::engine::{RequestError, Traced};
use crate::job_result::{JobResult, ShareResult};
use crate::protocol::JobMessage;
use crate::worker_error::{WorkerError, failed};
use joulio_engine::{Completion, Engine, Request};
use joulio_job::{Arrivals, Batches, LoggedIo, Verify, VerifyResult};
use joulio_nvme::wait::now;
use joulio_units::{Direction, Nanos, Operation};
use std::sync::atomic::Ordering;

/// Result of the loop, and the data that verification needs.
pub(super) struct Measured<B> {
    pub(super) result: JobResult,
    /// The devices, in the job's order.
    pub(super) devices: Vec<Prepared<B>>,
    /// Result of the verification of blocks during the loop.
    pub(super) checked: VerifyResult,
}

/// Longest turn after which the next one issues before it reads the clock.
const SHORT_TURN: Nanos = Nanos::from_micros(10);

/// The loop of a job: first the ramp, whose I/Os do not count, then the measured part.
///
/// A turn begins when completions have been reaped. It reads the clock once: that is the time of the completions,
/// and of the I/Os that are issued in their place. Statistics are updated after the doorbell, while the devices
/// work.
///
/// A reading of the clock takes a tenth of the time of the fastest I/Os. Where there is only one at a time, the clock
/// is read after the doorbell too. The times at which an I/O begins and ends are then both late by one issue, and its
/// latency is neither longer nor shorter.
pub(super) struct IoLoop<'a, E: Engine> {
    worker: &'a Worker<'a>,
    engine: &'a mut E,
    works: Works<E::Buffer>,
    /// True if I/Os of some load arrive at times of the clock (open loop).
    by_clock: bool,
    /// Bytes between the places where I/Os may begin.
    spacing: u64,
    batches: Batches,
    /// True if a flush follows the last I/O.
    end_flush: bool,
    /// True if data is verified.
    verifies: bool,
    /// True if completions are taken back as they are reaped: none is verified, and all are taken together.
    takes_back: bool,
    /// True if there is one I/O at a time, whose issue takes less than a reading of the clock.
    alone: bool,
    /// Completions that were reaped and not taken back, and in an engine without a limit those beyond the largest
    /// number to take together.
    completed: Vec<Completion<E::Buffer, E::Failure>>,
    ramp_end: Nanos,
    end: Nanos,
    measuring: bool,
    /// Number of completed I/Os and of their bytes, for the progress display.
    done: (u64, u64),
    meter: JobMeter,
    result: JobResult,
}

impl<'a, E: Traced> IoLoop<'a, E> {
    pub(super) fn new(
        worker: &'a Worker<'a>,
        engine: &'a mut E,
        devices: Vec<Prepared<E::Buffer>>,
        meter: JobMeter,
        start: Nanos,
    ) -> Self {
        let ramp_end = start + worker.job.ramp_time;
        let runtime = worker.job.runtime;
        let loads = worker.job.loads(worker.index);
        let works = worker.shares.iter().zip(devices);
        let devices: Vec<_> = works
            .map(|(share, prepared)| DeviceWork::new(worker, share, prepared, start))
            .collect();
        let slots = worker.job.iodepth * devices.len();
        let max_taken = worker.job.batches.max_taken();
        engine.limit(max_taken);
        let by_clock = loads.iter().any(|load| load.arrivals != Arrivals::Closed);
        let verifies = worker.job.verify != Verify::None;
        let fills = devices.iter().any(|device| device.content.is_some());
        let takes_back = !verifies && max_taken == usize::MAX;
        let closed = takes_back && !by_clock && !fills;
        IoLoop {
            worker,
            alone: slots == 1 && closed && engine.submits_at_once(),
            engine,
            works: Works::new(devices, slots),
            by_clock,
            spacing: worker.job.spacing(worker.index),
            end_flush: worker.job.flushes.end_fsync && worker.job.does(Direction::Write),
            batches: worker.job.batches,
            verifies,
            takes_back,
            completed: Vec::with_capacity(slots),
            ramp_end,
            end: runtime.map_or(Nanos::MAX, |runtime| ramp_end + runtime),
            measuring: false,
            done: (0, 0),
            meter,
            result: JobResult::new(worker.index, start),
        }
    }

    /// Runs to the end of the measured part.
    pub(super) fn run(mut self) -> Result<Measured<E::Buffer>, WorkerError> {
        let mut give_up = None;
        let mut everywhere = true;
        let mut at = Nanos::ZERO;
        let mut early = false;
        loop {
            let before = at;
            let mut seen = if early { before } else { now() };
            self.end_completed();
            at = seen;
            if !self.measuring && at >= self.ramp_end {
                self.count(seen);
                self.begin()?;
                everywhere = true;
                at = now();
            } else if self.verifies {
                at = now();
            }
            // Starting and verifying took time, which is part of no I/O's latency.
            let enough = self.worker.enough.load(Ordering::Relaxed);
            let issuing = at < self.end && !enough && !self.worker.stop.stopped();
            if issuing {
                self.issue(at, everywhere || self.by_clock)?;
                everywhere = false;
            }
            if early {
                seen = now();
                at = seen;
                self.works.only_arrived(at);
            }
            self.count(seen);
            if self.alone {
                self.works.draw_ahead();
            }
            let soon = self.issues_early(before, at);
            if self.works.in_flight == 0
                && !(issuing && self.has_more())
                && !self.flush_at_end(at)?
            {
                break;
            }
            if !issuing
                && self.worker.stop.stopped()
                && at >= *give_up.get_or_insert(at + MAX_WAIT_AFTER_STOP)
            {
                if !self.measuring {
                    // The job was stopped in the ramp, whose I/Os do not count: the abandoned ones must.
                    self.begin()?;
                }
                self.abandon();
                break;
            }
            let deadline = self.deadline(at, issuing);
            self.reap(deadline)?;
            // Without a completion nothing is issued, and the I/O in flight keeps its time.
            early = soon && !self.works.ended.is_empty();
        }
        self.finish()
    }

    /// Returns true if the turn after one from `before` to `at` may issue before it reads the clock: then it is still
    /// in this part of the job.
    #[inline]
    fn issues_early(&self, before: Nanos, at: Nanos) -> bool {
        let end = match self.measuring {
            true => self.end,
            false => self.ramp_end,
        };
        self.alone && at - before <= SHORT_TURN && at < end
    }

    /// Waits for completions until `deadline`.
    #[inline]
    fn reap(&mut self, deadline: Nanos) -> Result<(), WorkerError> {
        let (works, completed) = (&mut self.works, &mut self.completed);
        let (takes_back, shares) = (self.takes_back, &self.worker.shares);
        let min = self.batches.complete_min.min(works.in_flight.max(1));
        // Those that were left over are there already.
        let min = min.saturating_sub(completed.len());
        let reaped = self.engine.reap(min, deadline, |one| match takes_back {
            true => works.end(one, shares),
            false => completed.push(one),
        });
        reaped.map_err(failed)?;
        Ok(())
    }

    /// Begins the measured part, and discards the counts of the ramp.
    fn begin(&mut self) -> Result<(), WorkerError> {
        self.measuring = true;
        self.done = (0, 0);
        self.worker.progress.set(self.done);
        self.worker.report(JobMessage::Began)?;
        for device in &mut self.works.devices {
            device.begin();
        }
        self.result.first_error = None;
        let trace = self.worker.trace;
        self.meter.begin(self.engine, trace, &mut self.result);
        // Arrivals do not wait for a thread that begins late.
        self.result.counted_from = match self.by_clock {
            true => self.result.started.min(self.ramp_end),
            false => self.result.started,
        };
        Ok(())
    }

    /// Gives up the I/Os in flight: their buffers stay with the engine, which ends with the job.
    fn abandon(&mut self) {
        self.engine.abandon();
        for (device, share) in self.works.devices.iter_mut().zip(&self.worker.shares) {
            let ios: Vec<_> = device.in_flight.iter().copied().collect();
            for io in ios {
                // The content of these blocks is not known now.
                if let Some(ledger) = &mut device.ledger
                    && matches!(io.operation, Operation::Write | Operation::Trim)
                {
                    ledger.forget(io.block);
                }
                device.totals.of(io.operation).errors += 1;
                self.result.first_error.get_or_insert_with(|| {
                    share.describe(io.describe(self.spacing, RequestError::Unfinished))
                });
            }
        }
    }

    fn finish(mut self) -> Result<Measured<E::Buffer>, WorkerError> {
        if !self.measuring {
            // The job was stopped in the ramp: the measured part is empty.
            self.begin()?;
        }
        self.meter.finish(self.engine, &mut self.result);
        self.engine.limit(usize::MAX);
        // Random arrivals are drawn for these, which takes time.
        self.result.unissued = self.unissued();
        self.result.behind = self.behind();
        let mut checked = VerifyResult::default();
        let mut devices = Vec::new();
        for (device, share) in self.works.devices.into_iter().zip(&self.worker.shares) {
            self.result.shares.push(ShareResult {
                device: share.assignment.device,
                totals: device.totals,
            });
            checked.add(device.checked);
            devices.push(Prepared {
                buffers: device.in_flight.into_buffers(),
                ledger: device.ledger,
                content: device.content,
            });
        }
        Ok(Measured {
            result: self.result,
            devices,
            checked,
        })
    }

    /// Returns the number of arrivals of an open loop that were due and were not issued.
    fn unissued(&self) -> u64 {
        let left = |device: &DeviceWork<_>, n: u64| n.saturating_sub(device.issued);
        self.due(left)
    }

    /// Returns the number of unissued arrivals, and of those that were due when a device's last I/O was issued
    /// although the job had no more to do; at most the number that the job was to do.
    fn behind(&self) -> u64 {
        self.due(|_, n| n)
    }

    /// Returns the number of arrivals that were due and were not issued; if the number of I/Os is limited, at most
    /// `wanted` per device.
    fn due(&self, wanted: impl Fn(&DeviceWork<E::Buffer>, u64) -> u64) -> u64 {
        let end = self.end.min(self.result.ended);
        let arrivals = self.worker.job.rw.ios_of_one();
        let of_device = |device: &DeviceWork<_>| {
            let max = |n: u64| wanted(device, n).saturating_mul(arrivals);
            let max = self.worker.job.number_ios.map_or(u64::MAX, max);
            device.schedule.clone().left(end, max)
        };
        self.works.devices.iter().map(of_device).sum()
    }

    /// Returns the number of I/Os per device in this part of the job, if it is limited.
    #[inline]
    fn limit(&self) -> Option<u64> {
        self.worker.job.number_ios.filter(|_| self.measuring)
    }

    /// Returns true if a device has more I/Os to be issued.
    fn has_more(&self) -> bool {
        self.works.has_more(self.limit().unwrap_or(u64::MAX))
    }

    /// Returns the time until which to wait for completions: the next check for a stop; in an open loop also the
    /// next arrival that can be issued, and the end of the ramp or of the measured part.
    #[inline]
    fn deadline(&self, at: Nanos, issuing: bool) -> Nanos {
        let check = at + CHECK_INTERVAL;
        if !self.by_clock || !issuing {
            return check;
        }
        let limit = self.limit().unwrap_or(u64::MAX);
        let open = self.works.devices.iter().filter(|device| {
            let more = device.has_more(limit) && !device.in_flight.is_full();
            more && device.schedule.next() != Nanos::MAX
        });
        let next = open.map(|device| device.schedule.next()).min();
        let turn = if self.measuring {
            self.end
        } else {
            self.ramp_end
        };
        next.map_or(check, |next| check.min(next).min(turn))
    }

    /// Issues all I/Os that are due and have a free buffer: on every device, or only on those where an I/O has just
    /// completed. Rings the doorbells.
    #[inline]
    fn issue(&mut self, at: Nanos, everywhere: bool) -> Result<(), WorkerError> {
        if everywhere {
            for device in 0..self.works.devices.len() {
                self.issue_on(device, at)?;
            }
        } else {
            for index in 0..self.works.ended.len() {
                self.issue_on(self.works.ended[index].device, at)?;
            }
        }
        self.engine.submit().map_err(failed)
    }

    #[inline]
    fn issue_on(&mut self, number: usize, at: Nanos) -> Result<(), WorkerError> {
        let limit = self.limit().unwrap_or(u64::MAX);
        let mut made = 0;
        if self.by_clock {
            let device = &mut self.works.devices[number];
            if device.in_flight.is_empty() {
                device.schedule.drained(at);
            }
            if !device.has_more(limit) {
                device.schedule.all_issued(at);
            }
        }
        while !self.works.devices[number].in_flight.is_full()
            && let Some(next) = self.works.devices[number].next_io(at, limit)
        {
            if !self.start(number, next, at)? {
                break;
            }
            made += 1;
            if made == self.batches.submit {
                made = 0;
                self.engine.submit().map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Passes an I/O for device `number` to the engine; returns false if the engine has no room.
    #[inline(always)]
    fn start(&mut self, number: usize, next: NextIo, at: Nanos) -> Result<bool, WorkerError> {
        let device = &mut self.works.devices[number];
        let NextIo {
            operation,
            block,
            len,
            mut arrival,
            closed,
        } = next;
        let Some((slot, mut buffer)) = device.in_flight.take() else {
            return Ok(false);
        };
        if operation == Operation::Write && device.fill(slot, block, &mut buffer) && closed {
            // The time to create the data is the host's, not the device's.
            arrival = now();
        }
        let io = InFlightIo {
            arrival,
            block,
            len,
            operation,
            measured: self.measuring,
        };
        device.in_flight.start(slot, io);
        let request = Request {
            device: number,
            operation,
            offset: block * self.spacing,
            len,
            tag: tag(number, slot),
        };
        if !closed && at > arrival {
            self.engine.waited(number, at - arrival);
        }
        self.engine.prepare(request, buffer).map_err(failed)?;
        self.works.in_flight += 1;
        Ok(true)
    }

    /// Issues the flushes that follow the last I/O, once, unless the run was stopped; returns true if there are
    /// any.
    fn flush_at_end(&mut self, at: Nanos) -> Result<bool, WorkerError> {
        let flush = self.end_flush && self.measuring && !self.worker.stop.stopped();
        if !flush {
            return Ok(false);
        }
        self.end_flush = false;
        for number in 0..self.works.devices.len() {
            self.start(number, NextIo::flush(Operation::Sync, at), at)?;
        }
        self.engine.submit().map_err(failed)?;
        Ok(true)
    }

    /// Takes back the completed I/Os that were not taken back as they were reaped, at most as many as are taken
    /// together.
    #[inline]
    fn end_completed(&mut self) {
        if self.completed.is_empty() {
            return;
        }
        let mut completed = std::mem::take(&mut self.completed);
        let taken = completed.len().min(self.batches.max_taken());
        for completion in completed.drain(..taken) {
            self.works.end(completion, &self.worker.shares);
        }
        self.completed = completed;
    }

    /// Counts the I/Os that were seen to have completed at `at`.
    #[inline]
    fn count(&mut self, at: Nanos) {
        for index in 0..self.works.ended.len() {
            let Ended {
                device,
                io,
                outcome,
            } = self.works.ended[index];
            // I/Os of the ramp do not count, even if they complete in the measured part.
            if self.measuring && !io.measured {
                continue;
            }
            let statistics = self.works.devices[device].totals.of(io.operation);
            match outcome {
                Ok(()) => {
                    statistics.success(at - io.arrival, io.len.into());
                    if io.operation.is_sync() {
                        continue;
                    }
                    if self.worker.job.log_ios {
                        self.result.log.push(LoggedIo {
                            at: at - self.result.started,
                            latency: at - io.arrival,
                            operation: io.operation,
                            len: io.len,
                            offset: io.block * self.spacing,
                        });
                    }
                    self.done.0 += 1;
                    self.done.1 += u64::from(io.len);
                }
                Err(error) => {
                    statistics.errors += 1;
                    let (spacing, shares) = (self.spacing, &self.worker.shares);
                    let first = &mut self.result.first_error;
                    first.get_or_insert_with(|| {
                        shares[device].describe(io.describe(spacing, error))
                    });
                }
            }
        }
        self.works.ended.clear();
        self.worker.progress.set(self.done);
    }
}
