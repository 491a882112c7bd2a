//! Two tenants and a timer on one core: each tenant has its own drive, to which it writes blocks that it reads
//! back; the timer counts milliseconds until both are done. The drives are emulated.
//!
//! ```text
//! cargo run --release -p joulio-nvme --example reactor [interrupt|poll] [BLOCKS]
//! ```

use joulio_emulator::{EmulatedDevice, Options};
use joulio_model::DeviceProfile;
use joulio_nvme::wait::{AnyPolicy, WaitCounters, now};
use joulio_nvme::{
    Completed, Controller, ControllerOptions, DmaBuffer, Namespace, NextCall, Poller, PollerQueues,
    Reactor, ReactorCounters,
};
use joulio_units::Nanos;
use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;

/// Number of commands that a tenant has in flight, each on a different block.
const DEPTH: u64 = 4;
/// Bytes of a block.
const BLOCK: usize = 512;
/// Interval of the timer.
const INTERVAL: Nanos = Nanos::from_millis(1);

/// Everything that runs on the reactor.
enum Work {
    Tenant(Tenant),
    Timer(Timer),
}

/// A tenant: writes each of its blocks, reads it back, compares the data, and starts again.
struct Tenant {
    namespace: Namespace,
    /// Blocks whose command has completed, with tag and buffer.
    ready: Vec<(u64, DmaBuffer)>,
    /// Number of blocks left to write and read back, and number of commands in flight.
    left: u64,
    outstanding: u64,
    /// Number of blocks that were read back unchanged, and of others.
    verified: u64,
    wrong: u64,
    /// Number of tenants that are still working.
    working: Rc<Cell<u32>>,
}

/// Counts intervals until no tenant is working.
struct Timer {
    next: Nanos,
    ticks: u64,
    working: Rc<Cell<u32>>,
}

/// Returns a tag that contains the block, the round, and whether the block is read.
fn tag(block: u64, round: u64, reads: bool) -> u64 {
    round << 16 | block << 1 | u64::from(reads)
}

fn content(block: u64, round: u64) -> [u8; BLOCK] {
    [(block as u8) ^ (round as u8).rotate_left(3); BLOCK]
}

impl Tenant {
    fn block_completed(&mut self, completed: Completed) {
        self.outstanding -= 1;
        let Some(buffer) = completed.buffer else {
            return;
        };
        let (block, round) = (completed.tag >> 1 & 0x7fff, completed.tag >> 16);
        if completed.tag & 1 == 1 {
            let mut data = [0; BLOCK];
            buffer.read(0, &mut data);
            let good = completed.status.is_success() && data == content(block, round);
            self.verified += u64::from(good);
            self.wrong += u64::from(!good);
        } else {
            self.wrong += u64::from(!completed.status.is_success());
        }
        self.ready.push((completed.tag, buffer));
    }

    fn submit(&mut self, queues: &mut PollerQueues<'_, EmulatedDevice>) -> NextCall {
        let queue = &mut queues[0];
        while let Some((done, mut buffer)) = self.ready.pop() {
            let (block, round) = (done >> 1 & 0x7fff, done >> 16);
            let written = done & 1 == 0;
            if !written && self.left == 0 {
                continue;
            }
            let submitted = if written {
                buffer.write(0, &[0; BLOCK]);
                let tag = tag(block, round, true);
                queue.read(&self.namespace, block, 1, buffer, tag)
            } else {
                buffer.write(0, &content(block, round + 1));
                let tag = tag(block, round + 1, false);
                queue.write(&self.namespace, block, 1, buffer, tag)
            };
            // There are as many buffers as slots, and the blocks exist: no submission may fail.
            self.wrong += u64::from(submitted.is_err());
            self.left -= u64::from(!written);
            self.outstanding += 1;
        }
        queue.ring();
        if self.left + self.outstanding > 0 {
            return NextCall::OnEvent;
        }
        self.working.set(self.working.get() - 1);
        NextCall::Done
    }
}

impl Timer {
    fn tick(&mut self) -> NextCall {
        if self.working.get() == 0 {
            return NextCall::Done;
        }
        if now() >= self.next {
            self.ticks += 1;
            self.next += INTERVAL;
        }
        NextCall::At(self.next)
    }
}

impl Poller<EmulatedDevice> for Work {
    fn completed(&mut self, _: usize, completed: Completed) {
        if let Work::Tenant(tenant) = self {
            tenant.block_completed(completed);
        }
    }

    fn poll(&mut self, queues: &mut PollerQueues<'_, EmulatedDevice>) -> NextCall {
        match self {
            Work::Tenant(tenant) => tenant.submit(queues),
            Work::Timer(timer) => timer.tick(),
        }
    }
}

/// Outcome of the two tenants and the timer.
pub struct Outcome {
    /// Number of blocks of both tenants that were read back unchanged.
    pub verified: u64,
    /// Number of commands that failed, and of blocks with other data.
    pub wrong: u64,
    /// Number of intervals that the timer counted.
    pub ticks: u64,
    /// Counters of the reactor.
    pub reactor: ReactorCounters,
    /// Counters of the core's waits.
    pub waits: WaitCounters,
}

/// Runs two tenants, each of which writes `blocks` blocks, reads them back and waits with `policy`, and a timer.
///
/// # Errors
/// There is no memory, or there are no descriptors, for two controllers; or one of them fails.
pub fn run(blocks: u64, policy: fn() -> AnyPolicy) -> Result<Outcome, Box<dyn Error>> {
    let mut reactor = Reactor::new()?;
    let working = Rc::new(Cell::new(2));
    let mut controllers = Vec::new();
    for _ in 0..2 {
        let device = EmulatedDevice::spawn(&Options::new(DeviceProfile::builtin("optane-900p")?))?;
        let controller = Controller::open(device, ControllerOptions::default())?;
        let mut queue = controller.create_queue_pair(DEPTH as usize)?;
        queue.set_policy(policy())?;
        let buffers = controller.allocate_buffers(DEPTH as usize, BLOCK)?;
        // Each block is in the state after a read: it is written next.
        let ready = (0..DEPTH).zip(buffers);
        let tenant = Tenant {
            namespace: controller.namespace(1)?,
            ready: ready
                .map(|(block, buffer)| (tag(block, 0, true), buffer))
                .collect(),
            left: blocks,
            outstanding: 0,
            verified: 0,
            wrong: 0,
            working: Rc::clone(&working),
        };
        reactor.add(Work::Tenant(tenant), vec![queue]);
        controllers.push(controller);
    }
    let timer = Timer {
        next: now() + INTERVAL,
        ticks: 0,
        working,
    };
    reactor.add(Work::Timer(timer), Vec::new());
    reactor.run()?;
    let mut outcome = Outcome {
        verified: 0,
        wrong: 0,
        ticks: 0,
        reactor: reactor.counters(),
        waits: reactor.group().counters(),
    };
    for work in reactor.into_pollers() {
        match work {
            Work::Tenant(tenant) => {
                outcome.verified += tenant.verified;
                outcome.wrong += tenant.wrong;
            }
            Work::Timer(timer) => outcome.ticks += timer.ticks,
        }
    }
    Ok(outcome)
}

#[allow(dead_code, reason = "a test runs this file too, by `run`")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let policy: fn() -> AnyPolicy = match arguments.next().as_deref() {
        None | Some("interrupt") => || AnyPolicy::INTERRUPT,
        Some("poll") => || AnyPolicy::POLL,
        Some(other) => return Err(format!("'{other}': write interrupt or poll").into()),
    };
    let blocks = match arguments.next() {
        None => 10_000,
        Some(text) => text
            .parse()
            .map_err(|_| format!("'{text}' is no number of blocks"))?,
    };
    let Outcome {
        verified,
        wrong,
        ticks,
        reactor,
        waits,
    } = run(blocks, policy)?;
    println!("tenants: {verified} blocks verified, {wrong} wrong; timer: {ticks} ticks");
    println!(
        "reactor: {} turns, {} calls, {} waits; core: {} blocks, {} interrupts",
        reactor.turns, reactor.calls, reactor.waits, waits.blocks, waits.interrupts
    );
    match wrong {
        0 => Ok(()),
        _ => Err("a block had other data than was written to it".into()),
    }
}
