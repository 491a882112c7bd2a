//! One job, from its engine to its result.

mod in_flight;
mod io_loop;
mod job_meter;

use crate::Stop;
use crate::engine::Traced;
use crate::pass::Pass;
use crate::protocol::{JobMessage, JobOrder};
use crate::verify::Ledger;
use crate::worker_error::{WorkerError, failed};
use io_loop::{IoLoop, Measured};
use job_meter::JobMeter;
use joulio_engine::Buffer;
use joulio_job::{Availability, CompletionMode, Job, Verify};
use joulio_nvme::wait::{Adaptive, AnyPolicy, StepSet, WaitCosts, now};
use joulio_units::{Direction, Nanos};
use rand::{Rng, SeedableRng};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Duration;

/// One job, ready to be given an engine.
pub struct Worker<'a> {
    pub(crate) job: &'a Job,
    /// Number of the job, from 0.
    pub(crate) index: usize,
    /// Bytes of the job's longest I/O.
    pub(crate) bs: u64,
    /// Blocks of `bs` bytes that the job works on.
    pub(crate) share: Range<u64>,
    /// True if blocks without content may be given some before they are read.
    pub(crate) may_write: bool,
    pub(crate) stop: &'a Stop,
    /// What each step of a wait costs on this machine, if that is known.
    pub(crate) wait_costs: Option<&'a WaitCosts>,
    /// Events of the measured part that each queue is to keep.
    pub(crate) trace: Option<usize>,
    /// I/Os done, for the progress bar.
    pub(crate) progress: &'a AtomicU64,
    pub(crate) messages: Sender<JobMessage>,
    pub(crate) orders: Receiver<JobOrder>,
}

impl Worker<'_> {
    /// I/Os in flight.
    pub(crate) fn depth(&self) -> usize {
        self.job.iodepth
    }

    /// The policy by `mode`, if it has one, of a thread that can wait by `steps`.
    pub(crate) fn policy(&self, mode: CompletionMode, steps: StepSet) -> Option<AnyPolicy> {
        if mode != CompletionMode::Adaptive {
            return mode.policy();
        }
        let costs = self.wait_costs.cloned().unwrap_or_else(WaitCosts::generic);
        let own = Adaptive::new(costs, self.job.goal, self.job.numjobs, steps);
        Some(AnyPolicy::Adaptive(own))
    }

    /// Reports that there is no engine.
    pub(crate) fn refuse(self, why: Availability) -> Result<(), WorkerError> {
        self.report(JobMessage::Ready(why))
    }

    /// Runs the job on `engine`, through the states that `protocol.rs` draws.
    pub(crate) fn run<E: Traced>(self, engine: &mut E) -> Result<(), WorkerError> {
        let (buffers, ledger) = self.prepare(engine)?;
        // Opening takes its time, and must not take it from the ramp.
        let meter = JobMeter::open();
        let effective = Availability::Effective(engine.effective());
        self.report(JobMessage::Ready(effective))?;
        let start = self.wait_for_start()?;
        let io_loop = IoLoop::new(&self, engine, buffers, ledger, meter, start);
        thread::sleep(Duration::from_nanos((start - now()).0));
        let Measured {
            result,
            buffers,
            ledger,
            mut checked,
        } = io_loop.run()?;
        self.report(JobMessage::Finished(Box::new(result)))?;
        self.wait_for_verify()?;
        if let Some(mut ledger) = ledger
            && self.job.rw.does(Direction::Write)
        {
            self.pass()
                .read_back(engine, buffers, &mut ledger, &mut checked)?;
        }
        self.report(JobMessage::Verified(checked))
    }

    /// Buffers with content, and what stands on the device, laid out if the job verifies.
    fn prepare<E: Traced>(
        &self,
        engine: &mut E,
    ) -> Result<(Vec<E::Buffer>, Option<Ledger>), WorkerError> {
        let bs = self.bs as usize;
        let mut buffers = engine.buffers(self.job.iodepth, bs).map_err(failed)?;
        let mut content = vec![0; bs];
        rand_pcg::Pcg64Mcg::seed_from_u64(self.job.seed).fill_bytes(&mut content);
        for buffer in &mut buffers {
            buffer.copy_from(&content);
        }
        if self.job.verify == Verify::None {
            return Ok((buffers, None));
        }
        let mut ledger = Ledger::new(self.share.clone(), bs, self.job.seed);
        if self.may_write && self.job.rw.does(Direction::Read) {
            buffers = self.pass().lay_out(engine, buffers, &mut ledger)?;
        }
        Ok((buffers, Some(ledger)))
    }

    fn pass(&self) -> Pass<'_> {
        Pass {
            share: &self.share,
            bs: self.bs,
            stop: self.stop,
        }
    }

    fn report(&self, message: JobMessage) -> Result<(), WorkerError> {
        let sent = self.messages.send(message);
        sent.map_err(|_| WorkerError::NotStarted)
    }

    fn wait_for_start(&self) -> Result<Nanos, WorkerError> {
        match self.orders.recv() {
            Ok(JobOrder::Start(at)) => Ok(at),
            _ => Err(WorkerError::NotStarted),
        }
    }

    /// Verifying would be work for the device in another job's measured part.
    fn wait_for_verify(&self) -> Result<(), WorkerError> {
        match self.orders.recv() {
            Ok(JobOrder::Verify) => Ok(()),
            _ => Err(WorkerError::NotStarted),
        }
    }
}
