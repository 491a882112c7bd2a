//! One job, from its engine to its result.

mod content;
mod device_work;
mod flush_turn;
mod in_flight;
mod io_loop;
mod job_meter;
mod parts;
mod works;

use crate::control::CHECK_INTERVAL;
use crate::engine::Traced;
use crate::pass::Pass;
use crate::protocol::{JobMessage, JobOrder, Verified};
use crate::verify::Ledger;
use crate::worker_error::{WorkerError, failed};
use content::Content;
use device_work::Prepared;
use io_loop::{IoLoop, Measured};
use job_meter::JobMeter;
use joulio_device::{PageKind, current_node, memory_node, memory_pages};
use joulio_engine::Buffer;
use joulio_job::{Availability, MemoryPages, Placement, Verify};
use joulio_nvme::wait::now;
use joulio_units::{Direction, Nanos, Operation};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

pub use parts::Worker;

/// Returns the placement of a job's buffers, which are pieces of one memory for each device.
fn placement<B: Buffer>(devices: &[Prepared<B>]) -> Placement {
    let mut placement = Placement::default();
    for buffer in devices.iter().filter_map(|device| device.buffers.first()) {
        placement.memory_nodes.extend(memory_node(buffer.address()));
        let pages = match memory_pages(buffer.address()) {
            PageKind::Ordinary => MemoryPages::Ordinary,
            PageKind::Transparent => MemoryPages::TransparentHuge,
            PageKind::Huge => MemoryPages::Huge,
        };
        placement.memory_pages.insert(pages);
    }
    placement
}

impl Worker<'_> {
    /// Runs the job on `engine`, through the states that `protocol.rs` shows.
    pub(crate) fn run<E: Traced>(self, engine: &mut E) -> Result<(), WorkerError> {
        let devices = self.prepare(engine)?;
        // Opening takes time, which must not be part of the ramp.
        let meter = JobMeter::open();
        let effective = Availability::Effective(engine.effective());
        self.report(JobMessage::Ready(effective))?;
        let mut placement = placement(&devices);
        let start = self.wait_for_start()? + self.job.start_delay;
        let io_loop = IoLoop::new(&self, engine, devices, meter, start);
        self.sleep_until(start);
        let Measured {
            mut result,
            devices,
            mut checked,
        } = io_loop.run()?;
        placement.cpu_nodes.extend(current_node());
        (placement.interrupt_cpus, placement.interrupts_elsewhere) = engine.interrupt_cpus();
        result.placement = placement;
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
        let faults = engine.faults();
        self.report(JobMessage::Verified(Verified { checked, faults }))
    }

    /// Prepares buffers with content, and for each device the ledger; writes the blocks if the job verifies.
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
        let len = match self.job.rw.only_trims() {
            // Space for a range.
            true => bs.min(4096),
            false => bs,
        };
        let mut buffers = engine
            .buffers(number, self.job.iodepth, len)
            .map_err(failed)?;
        let seed = self.job.seed ^ (share.assignment.index as u64 + 1) << 48;
        let content = Content::new(seed, len, buffers.len());
        for (place, buffer) in (0..).zip(&mut buffers) {
            buffer.copy_from(content.of(place));
        }
        if self.job.verify == Verify::None {
            // Reads leave other data in the buffers that writes take after them.
            let mixed = self.job.has(Operation::Read) && self.job.has(Operation::Write);
            return Ok(Prepared {
                buffers,
                ledger: None,
                content: mixed.then_some(content),
            });
        }
        let mut ledger = Ledger::new(share.blocks.clone(), bs, self.job.seed);
        if share.may_write && self.job.rw.does(Direction::Read) {
            let pass = self.pass(number);
            buffers = pass.lay_out(engine, buffers, &mut ledger)?;
        }
        Ok(Prepared {
            buffers,
            ledger: Some(ledger),
            content: None,
        })
    }

    fn pass(&self, device: usize) -> Pass<'_> {
        Pass {
            device,
            share: &self.shares[device],
            bs: self.bs,
            stop: self.stop,
        }
    }

    fn wait_for_start(&self) -> Result<Nanos, WorkerError> {
        match self.orders.recv() {
            Ok(JobOrder::Start(at)) => Ok(at),
            _ => Err(WorkerError::NotStarted),
        }
    }

    /// Sleeps until `start`, unless the job should end before.
    fn sleep_until(&self, start: Nanos) {
        let ends = || self.stop.stopped() || self.enough.load(Ordering::Relaxed);
        while now() < start && !ends() {
            let left = start.since(now()).min(CHECK_INTERVAL);
            thread::sleep(Duration::from_nanos(left.0));
        }
    }

    /// Waits until all jobs have finished: verification would disturb the device in another job's measured part.
    fn wait_for_verify(&self) -> Result<(), WorkerError> {
        match self.orders.recv() {
            Ok(JobOrder::Verify) => Ok(()),
            _ => Err(WorkerError::NotStarted),
        }
    }
}
