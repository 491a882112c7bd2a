//! One job, from its engine to its result.

mod device_work;
mod in_flight;
mod io_loop;
mod job_meter;

use crate::Stop;
use crate::engine::Traced;
use crate::pass::Pass;
use crate::protocol::{JobMessage, JobOrder};
use crate::share::Share;
use crate::verify::Ledger;
use crate::worker_error::{WorkerError, failed};
use device_work::Prepared;
use io_loop::{IoLoop, Measured};
use job_meter::JobMeter;
use joulio_engine::Buffer;
use joulio_job::{Availability, CompletionMode, Job, Verify};
use joulio_nvme::wait::{Adaptive, AnyPolicy, StepSet, WaitCosts, now};
use joulio_units::{Direction, Nanos};
use rand::{Rng, SeedableRng};
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
    /// Shares of the job's devices, at least one.
    pub(crate) shares: Vec<Share>,
    pub(crate) stop: &'a Stop,
    /// Costs of each step of a wait on this machine, if they are known.
    pub(crate) wait_costs: Option<&'a WaitCosts>,
    /// Events of the measured part that each queue is to keep.
    pub(crate) trace: Option<usize>,
    /// I/Os done, for the progress bar.
    pub(crate) progress: &'a AtomicU64,
    pub(crate) messages: Sender<JobMessage>,
    pub(crate) orders: Receiver<JobOrder>,
}

impl Worker<'_> {
    /// I/Os in flight on each device.
    pub(crate) fn depth(&self) -> usize {
        self.job.iodepth
    }

    /// Bytes of the longest I/O.
    pub(crate) fn longest(&self) -> u64 {
        self.bs
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
        let devices = self.prepare(engine)?;
        // Opening takes its time, and must not take it from the ramp.
        let meter = JobMeter::open();
        let effective = Availability::Effective(engine.effective());
        self.report(JobMessage::Ready(effective))?;
        let start = self.wait_for_start()?;
        let io_loop = IoLoop::new(&self, engine, devices, meter, start);
        thread::sleep(Duration::from_nanos((start - now()).0));
        let Measured {
            result,
            devices,
            mut checked,
        } = io_loop.run()?;
        self.report(JobMessage::Finished(Box::new(result)))?;
        self.wait_for_verify()?;
        for (number, device) in devices.into_iter().enumerate() {
            if let Some(mut ledger) = device.ledger
                && self.job.rw.does(Direction::Write)
            {
                let pass = self.pass(number);
                pass.read_back(engine, device.buffers, &mut ledger, &mut checked)?;
            }
        }
        self.report(JobMessage::Verified(checked))
    }

    /// Buffers with content, and what stands on each device, laid out if the job verifies.
    fn prepare<E: Traced>(&self, engine: &mut E) -> Result<Vec<Prepared<E::Buffer>>, WorkerError> {
        let devices = 0..self.shares.len();
        devices
            .map(|number| self.prepare_device(engine, number))
            .collect()
    }

    fn prepare_device<E: Traced>(
        &self,
        engine: &mut E,
        number: usize,
    ) -> Result<Prepared<E::Buffer>, WorkerError> {
        let (bs, share) = (self.bs as usize, &self.shares[number]);
        let mut buffers = engine
            .buffers(number, self.job.iodepth, bs)
            .map_err(failed)?;
        let mut content = vec![0; bs];
        rand_pcg::Pcg64Mcg::seed_from_u64(self.job.seed).fill_bytes(&mut content);
        for buffer in &mut buffers {
            buffer.copy_from(&content);
        }
        if self.job.verify == Verify::None {
            let ledger = None;
            return Ok(Prepared { buffers, ledger });
        }
        let mut ledger = Ledger::new(share.blocks.clone(), bs, self.job.seed);
        if share.may_write && self.job.rw.does(Direction::Read) {
            let pass = self.pass(number);
            buffers = pass.lay_out(engine, buffers, &mut ledger)?;
        }
        let ledger = Some(ledger);
        Ok(Prepared { buffers, ledger })
    }

    fn pass(&self, device: usize) -> Pass<'_> {
        Pass {
            device,
            share: &self.shares[device],
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
