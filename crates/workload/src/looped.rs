//! The loop of one job: issue, wait, record.

use crate::Stop;
use crate::cpu;
use crate::engine::{EngineError, IoError, Traced};
use crate::machine::{Counting, ThreadCounters};
use crate::pattern::Pattern;
use crate::process::{ProcessError, wire};
use crate::spoiled::{Learning, Scheduled};
use crate::stopped;
use crate::sweep::{check, lay_out, read_back};
use crate::verify::Ledger;
use joulio_engine::{Buffer, Completion, Engine, Request};
use joulio_job::{Arrivals, Availability, IoStatistics, Job, ThreadUsage, Verify, VerifyResult};
use joulio_kernel_io::TargetError;
use joulio_nvme::Faults;
use joulio_nvme::wait::{Counters, now};
use joulio_trace::Recorded;
use joulio_units::{Direction, Nanos};
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Duration;

/// Why a job ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The device, the driver or the kernel failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Blocks that reads are to find could not be written.
    #[error("writing the blocks to be verified failed: {0}")]
    Layout(IoError),
    /// The thread could not be put on its CPU.
    #[error("--cpus_allowed: CPU {cpu}: {reason}")]
    Cpu {
        /// The CPU.
        cpu: usize,
        /// Why.
        reason: String,
    },
    /// The device or file that it opens itself.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The job's process.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It was stopped in a pass over its blocks, and the device did not end what was in flight.
    #[error("stopped, with {requests} I/Os in flight that the device did not end")]
    Unfinished {
        /// How many.
        requests: usize,
    },
    /// Another job could not start, so this one did not.
    #[error("not started")]
    NotStarted,
}

/// How often a job that waits looks up, whether it is to end.
pub(crate) const CHECK_INTERVAL: Nanos = Nanos::from_millis(100);

/// How long a job that was told to stop waits for its I/Os in flight: with the time until it looks up,
/// it ends within a second, whatever the device does.
pub(crate) const LAST_WAIT: Nanos = Nanos::from_millis(500);

/// When all jobs start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Go {
    pub(crate) start: Nanos,
}

/// What a job tells the thread that runs the whole.
#[derive(Serialize, Deserialize)]
pub(crate) enum Message {
    /// Ready to start, or this way of waiting is not to be had.
    Ready(Availability),
    /// The measured part begins.
    Began,
    /// The measured part is over; the job waits for the others.
    Measured(Box<Measured>),
    /// All of it is over.
    Verified(VerifyResult),
    /// The job's thread ends: after `Verified`, or for a reason that it returns.
    #[serde(skip)]
    Gone,
}

/// The figures of one job. A process's comes without what only the user-space driver has.
#[derive(Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) index: usize,
    pub(crate) started: Nanos,
    pub(crate) ended: Nanos,
    pub(crate) read: IoStatistics,
    pub(crate) write: IoStatistics,
    #[serde(with = "wire::Counters")]
    pub(crate) counters: Counters,
    #[serde(skip)]
    pub(crate) faults: Faults,
    #[serde(skip)]
    pub(crate) recorded: Vec<Recorded>,
    pub(crate) usage: ThreadUsage,
    /// The thread of the kernel's that worked for it.
    pub(crate) kernel_usage: ThreadUsage,
    /// What it had of its CPU, and the kernel's thread of its own.
    pub(crate) scheduled: Scheduled,
    pub(crate) kernel_scheduled: Option<Scheduled>,
    pub(crate) learning: Learning,
    /// Its process was stopped and continued.
    pub(crate) stopped: bool,
    pub(crate) system_calls: Option<u64>,
    pub(crate) counted: ThreadCounters,
    /// The counters tell how long it was blocked and asleep.
    pub(crate) tells_waiting: bool,
    /// Arrivals of an open loop that found no free slot before the end, and were never issued.
    pub(crate) unissued: u64,
    pub(crate) first_error: Option<String>,
}

/// One job, ready to be given an engine.
pub struct Worker<'a> {
    pub(crate) job: &'a Job,
    pub(crate) index: usize,
    /// Bytes of its I/Os.
    pub(crate) bs: u64,
    /// Its blocks of `bs` bytes.
    pub(crate) share: Range<u64>,
    /// Whether blocks without content may be given some before they are read.
    pub(crate) may_write: bool,
    pub(crate) stop: &'a Stop,
    /// Events of the measured part that each queue is to keep.
    pub(crate) trace: Option<usize>,
    /// I/Os done, for the progress bar.
    pub(crate) progress: &'a AtomicU64,
    pub(crate) messages: Sender<Message>,
    pub(crate) go: Receiver<Go>,
}

impl Worker<'_> {
    fn tell(&self, message: Message) -> Result<(), WorkerError> {
        self.messages
            .send(message)
            .map_err(|_| WorkerError::NotStarted)
    }

    /// I/Os in flight.
    pub(crate) fn depth(&self) -> usize {
        self.job.iodepth
    }

    /// Reports that there is no engine.
    pub(crate) fn refuse(self, why: Availability) -> Result<(), WorkerError> {
        self.tell(Message::Ready(why))
    }

    /// Runs the job on `engine`.
    pub(crate) fn run<E: Traced>(self, engine: &mut E) -> Result<(), WorkerError> {
        let bs = self.bs as usize;
        let mut buffers = engine.buffers(self.job.iodepth, bs).map_err(failed)?;
        let mut content = vec![0; bs];
        rand_pcg::Pcg64Mcg::seed_from_u64(self.job.seed).fill_bytes(&mut content);
        buffers
            .iter_mut()
            .for_each(|buffer| buffer.copy_from(&content));
        let verifying = self.job.verify != Verify::None;
        let mut ledger = verifying.then(|| Ledger::new(self.share.clone(), bs, self.job.seed));
        if let Some(ledger) = &mut ledger
            && self.may_write
            && self.job.rw.does(Direction::Read)
        {
            buffers = lay_out(engine, buffers, ledger, &self)?;
        }
        // Opening takes its time, and must not take it from the ramp.
        let counting = Counting::this_thread();
        self.tell(Message::Ready(Availability::Effective(engine.effective())))?;
        let Ok(go) = self.go.recv() else {
            return Err(WorkerError::NotStarted);
        };
        let mut run = Loop::new(&self, buffers, ledger, go);
        run.counting = Some(counting);
        thread::sleep(Duration::from_nanos((go.start - now()).0));
        run.measure(engine)?;
        let Loop {
            buffers,
            ledger,
            mut checked,
            measured,
            ..
        } = run;
        self.tell(Message::Measured(Box::new(measured)))?;
        // What follows would be work for the device in somebody else's window.
        if self.go.recv().is_err() {
            return Err(WorkerError::NotStarted);
        }
        if let Some(mut ledger) = ledger
            && self.job.rw.does(Direction::Write)
        {
            read_back(engine, buffers, &mut ledger, &self, &mut checked)?;
        }
        self.tell(Message::Verified(checked))
    }
}

/// An I/O in flight.
#[derive(Clone, Copy)]
struct Flight {
    arrival: Nanos,
    block: u64,
    direction: Direction,
    /// It was issued in the measured part.
    measured: bool,
}

/// What there was when the measured part began.
#[derive(Default)]
struct Before {
    counters: Counters,
    usage: ThreadUsage,
    kernel_usage: ThreadUsage,
    scheduled: Scheduled,
    kernel_scheduled: Option<Scheduled>,
    stops: u64,
    system_calls: Option<u64>,
}

struct Loop<'a, E: Engine> {
    worker: &'a Worker<'a>,
    pattern: Pattern,
    ledger: Option<Ledger>,
    /// By tag: what is in flight, and the buffers of what is not.
    flights: Vec<Flight>,
    idle: Vec<u64>,
    buffers: Vec<E::Buffer>,
    ended: Vec<Completion<E::Buffer, E::Failure>>,
    ramp_end: Nanos,
    end: Nanos,
    next_arrival: Nanos,
    issued: u64,
    measuring: bool,
    before: Before,
    counting: Option<Counting>,
    checked: VerifyResult,
    measured: Measured,
}

impl<'a, E: Traced> Loop<'a, E> {
    fn new(
        worker: &'a Worker<'a>,
        buffers: Vec<E::Buffer>,
        ledger: Option<Ledger>,
        go: Go,
    ) -> Self {
        let depth = buffers.len();
        let ramp_end = go.start + worker.job.ramp_time;
        let flight = Flight {
            arrival: Nanos::ZERO,
            block: 0,
            direction: Direction::Other,
            measured: false,
        };
        Loop {
            worker,
            pattern: Pattern::new(worker.job, worker.index, worker.share.clone()),
            ledger,
            flights: vec![flight; depth],
            idle: (0..depth as u64).rev().collect(),
            buffers,
            ended: Vec::with_capacity(depth),
            ramp_end,
            end: worker
                .job
                .runtime
                .map_or(Nanos::MAX, |runtime| ramp_end + runtime),
            next_arrival: go.start,
            issued: 0,
            measuring: false,
            before: Before::default(),
            counting: None,
            checked: VerifyResult::default(),
            measured: Measured {
                index: worker.index,
                started: go.start,
                ended: go.start,
                read: IoStatistics::new(),
                write: IoStatistics::new(),
                counters: Counters::default(),
                faults: Faults::default(),
                recorded: Vec::new(),
                usage: ThreadUsage::default(),
                kernel_usage: ThreadUsage::default(),
                scheduled: Scheduled::default(),
                kernel_scheduled: None,
                learning: Learning::default(),
                stopped: false,
                system_calls: None,
                counted: ThreadCounters::none(),
                tells_waiting: true,
                unissued: 0,
                first_error: None,
            },
        }
    }

    fn measure(&mut self, engine: &mut E) -> Result<(), WorkerError> {
        let mut last_wait = None;
        loop {
            let mut at = now();
            if !self.measuring && at >= self.ramp_end {
                self.begin(engine)?;
                // Beginning took its time, which is nobody's latency.
                at = now();
            }
            let issuing = self.issuing(at);
            if issuing {
                self.issue(engine, at)?;
                engine.submit().map_err(failed)?;
            }
            if self.buffers.len() == self.flights.len() && !issuing {
                break;
            }
            if !issuing
                && self.worker.stop.stopped()
                && at >= *last_wait.get_or_insert(at + LAST_WAIT)
            {
                if !self.measuring {
                    // Stopped in the ramp, whose I/Os do not count: these do.
                    self.begin(engine)?;
                }
                engine.abandon();
                self.abandon();
                break;
            }
            let deadline = self.deadline(at, issuing);
            let ended = &mut self.ended;
            engine
                .reap(1, deadline, |done| ended.push(done))
                .map_err(failed)?;
            self.record();
        }
        self.finish(engine)
    }

    /// The measured part starts: what came before does not count.
    fn begin(&mut self, engine: &mut E) -> Result<(), WorkerError> {
        self.measuring = true;
        self.worker.tell(Message::Began)?;
        self.issued = 0;
        self.measured.read.clear();
        self.measured.write.clear();
        self.measured.first_error = None;
        self.before = Before {
            counters: engine.counters(),
            kernel_usage: kernel_thread(engine),
            system_calls: engine.system_calls(),
            kernel_scheduled: kernel_scheduled(engine),
            stops: stopped::times(),
            usage: cpu::this_thread(),
            scheduled: Scheduled::default(),
        };
        self.measured.learning.at_first = engine.learning();
        if let Some(capacity) = self.worker.trace {
            engine.start_trace(capacity);
        }
        if let Some(counting) = &mut self.counting {
            counting.start();
        }
        self.before.scheduled = cpu::scheduled();
        self.measured.started = now();
        Ok(())
    }

    /// Gives up the I/Os in flight: their buffers stay with the engine, which ends with the job.
    fn abandon(&mut self) {
        for (tag, flight) in self.flights.iter().enumerate() {
            if self.idle.contains(&(tag as u64)) {
                continue;
            }
            // Nobody knows what stands there now.
            if let Some(ledger) = &mut self.ledger
                && flight.direction == Direction::Write
            {
                ledger.forget(flight.block);
            }
            let tally = match flight.direction {
                Direction::Write => &mut self.measured.write,
                _ => &mut self.measured.read,
            };
            tally.errors += 1;
            self.measured
                .first_error
                .get_or_insert_with(|| describe(*flight, self.worker.bs, IoError::Unfinished));
        }
    }

    fn finish(&mut self, engine: &mut E) -> Result<(), WorkerError> {
        if !self.measuring {
            // Stopped in the ramp: there is nothing.
            self.begin(engine)?;
        }
        if let Arrivals::Every(interval) = self.worker.job.arrivals {
            let due = self.end.min(now()) - self.next_arrival;
            let wanted = self
                .worker
                .job
                .number_ios
                .map_or(u64::MAX, |n| n - self.issued.min(n));
            self.measured.unissued = (due.0 / interval.0).min(wanted);
        }
        self.measured.ended = now();
        self.measured.scheduled = cpu::scheduled().since(self.before.scheduled);
        if let Some(counting) = &mut self.counting {
            self.measured.counted = counting.stop();
        }
        self.measured.counters = engine.counters() - self.before.counters;
        let calls = engine.system_calls().zip(self.before.system_calls);
        self.measured.system_calls = calls.map(|(after, before)| after - before);
        self.measured.kernel_usage = kernel_thread(engine).since(self.before.kernel_usage);
        let kernel = kernel_scheduled(engine).zip(self.before.kernel_scheduled);
        self.measured.kernel_scheduled = kernel.map(|(after, before)| after.since(before));
        self.measured.stopped = stopped::times() != self.before.stops;
        self.measured.learning.to_the_end = engine.learning() > Nanos::ZERO;
        self.measured.tells_waiting = engine.counts_waiting();
        self.measured.faults = engine.faults();
        self.measured.recorded = engine.take_trace();
        self.measured.usage = cpu::this_thread().since(self.before.usage);
        Ok(())
    }

    fn issuing(&self, at: Nanos) -> bool {
        let enough = self.measuring && self.worker.job.number_ios.is_some_and(|n| self.issued >= n);
        at < self.end && !enough && !self.worker.stop.stopped()
    }

    /// Until when to wait for a completion: the next look up; in an open loop also the next
    /// arrival that can go out, and the next thing to be done without one.
    fn deadline(&self, at: Nanos, issuing: bool) -> Nanos {
        let look = at + CHECK_INTERVAL;
        if self.worker.job.arrivals == Arrivals::Closed || !issuing || self.idle.is_empty() {
            return look;
        }
        let turn = if self.measuring {
            self.end
        } else {
            self.ramp_end
        };
        look.min(self.next_arrival).min(turn)
    }

    /// Sends out all that is due and has a free buffer.
    fn issue(&mut self, engine: &mut E, at: Nanos) -> Result<(), WorkerError> {
        let limit = self.worker.job.number_ios.filter(|_| self.measuring);
        while let Some(&tag) = self.idle.last() {
            if limit.is_some_and(|n| self.issued >= n) {
                break;
            }
            let mut arrival = match self.worker.job.arrivals {
                Arrivals::Every(_) if self.next_arrival > at => break,
                Arrivals::Every(interval) => {
                    let arrival = self.next_arrival;
                    self.next_arrival += interval;
                    arrival
                }
                // A check before the run refuses the others.
                _ => at,
            };
            let direction = self.pattern.direction();
            let block = self.block();
            let Some(mut buffer) = self.buffers.pop() else {
                break;
            };
            if direction == Direction::Write
                && let Some(ledger) = &mut self.ledger
            {
                buffer.copy_from(ledger.fill(block));
                if self.worker.job.arrivals == Arrivals::Closed {
                    // Making the data took the host's time, not the device's.
                    arrival = now();
                }
            }
            self.idle.pop();
            self.flights[tag as usize] = Flight {
                arrival,
                block,
                direction,
                measured: self.measuring,
            };
            let bs = self.worker.bs;
            let request = Request {
                direction,
                offset: block * bs,
                len: bs as u32,
                tag,
            };
            engine.prepare(request, buffer).map_err(failed)?;
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

    /// Takes in what ended.
    fn record(&mut self) {
        let at = now();
        let mut ended = std::mem::take(&mut self.ended);
        let bs = self.worker.bs;
        for done in ended.drain(..) {
            let flight = self.flights[done.tag as usize];
            let tally = match flight.direction {
                Direction::Write => &mut self.measured.write,
                _ => &mut self.measured.read,
            };
            let outcome = done.outcome.map_err(Into::into);
            match outcome {
                // The ramp's do not count, though they end in the measured part.
                Ok(()) if self.measuring && !flight.measured => {}
                Ok(()) => tally.success(at - flight.arrival, bs),
                Err(_) if self.measuring && !flight.measured => {}
                Err(error) => {
                    tally.errors += 1;
                    self.measured
                        .first_error
                        .get_or_insert_with(|| describe(flight, bs, error));
                }
            }
            if let Some(ledger) = &mut self.ledger {
                ledger.release(flight.block);
                match (flight.direction, outcome) {
                    (Direction::Read, Ok(()))
                        if !self.worker.may_write || ledger.written(flight.block) =>
                    {
                        check(ledger, &done.buffer, flight.block, &mut self.checked);
                    }
                    (Direction::Write, Err(_)) => ledger.forget(flight.block),
                    _ => {}
                }
            }
            self.buffers.push(done.buffer);
            self.idle.push(done.tag);
        }
        self.ended = ended;
        let done = self.measured.read.ios + self.measured.write.ios;
        self.worker.progress.store(done, Ordering::Relaxed);
    }
}

/// The engine cannot go on.
pub(crate) fn failed(error: impl Into<EngineError>) -> WorkerError {
    WorkerError::Engine(error.into())
}

fn kernel_thread<E: Engine>(engine: &E) -> ThreadUsage {
    let thread = engine.kernel_thread();
    thread.map_or_else(ThreadUsage::default, cpu::thread)
}

fn kernel_scheduled<E: Engine>(engine: &E) -> Option<Scheduled> {
    engine.kernel_thread().map(cpu::scheduled_of)
}

fn describe(flight: Flight, bs: u64, error: IoError) -> String {
    let what = match flight.direction {
        Direction::Write => "write",
        _ => "read",
    };
    format!(
        "{what} of {bs} bytes at offset {}: {error}",
        flight.block * bs
    )
}
