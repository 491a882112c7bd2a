//! The interleavings, with up to two preemptions, of a core that blocks for interrupts, a device that raises them,
//! and the bus between the two.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p joulio-wait --test arm_check_block --release`
//!
//! A lost wake-up is a core that blocks forever, which loom reports as a deadlock. The last test shows that loom
//! can find one in this model.
#![cfg(loom)]

use joulio_units::Nanos;
use joulio_wait::{Blocked, Step, StepKind, Waiter, Watched, arm_and_check};
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use std::collections::VecDeque;
use std::error::Error;

/// An MSI-X vector (PCI 3.0, 6.8.2), the stores to its mask bit that have not arrived yet, and its eventfd.
#[derive(Default)]
struct Line {
    masked: bool,
    pending: bool,
    events: u64,
    posted: VecDeque<bool>,
    /// Set when no more stores will be made.
    over: bool,
}

impl Line {
    fn store(&mut self, masked: bool) {
        self.masked = masked;
        if !masked && std::mem::take(&mut self.pending) {
            self.events += 1;
        }
    }
}

struct Machine {
    /// Number of completions that the device has written.
    written: AtomicUsize,
    line: Mutex<Line>,
    signal: Condvar,
}

impl Machine {
    fn new() -> Arc<Machine> {
        let line = Line {
            masked: true,
            ..Line::default()
        };
        Arc::new(Machine {
            written: AtomicUsize::new(0),
            line: Mutex::new(line),
            signal: Condvar::new(),
        })
    }

    /// Acts as the device: writes the completion first, and then raises the interrupt.
    fn complete(&self) {
        self.written.fetch_add(1, Ordering::Release);
        let mut line = self.line.lock().unwrap();
        if line.masked {
            line.pending = true;
        } else {
            line.events += 1;
            self.signal.notify_all();
        }
    }

    /// Acts as the bus: delivers stores to the device in order, each some time after it was made.
    fn carry(&self) {
        let mut line = self.line.lock().unwrap();
        loop {
            if let Some(masked) = line.posted.pop_front() {
                line.store(masked);
                self.signal.notify_all();
                drop(line);
                line = self.line.lock().unwrap();
            } else if line.over {
                return;
            } else {
                line = self.signal.wait(line).unwrap();
            }
        }
    }

    /// Stores to the mask bit without reading it back.
    fn post(&self, masked: bool) {
        self.line.lock().unwrap().posted.push_back(masked);
        self.signal.notify_all();
    }

    /// Stores to the mask bit and reads it back, which waits until the store has arrived.
    fn set(&self, masked: bool) {
        self.post(masked);
        let mut line = self.line.lock().unwrap();
        while !line.posted.is_empty() {
            line = self.signal.wait(line).unwrap();
        }
    }

    fn block(&self) {
        let mut line = self.line.lock().unwrap();
        while line.events == 0 {
            line = self.signal.wait(line).unwrap();
        }
    }

    /// Takes the interrupts raised so far; returns their number.
    fn take(&self) -> u64 {
        std::mem::take(&mut self.line.lock().unwrap().events)
    }

    fn end(&self) {
        self.line.lock().unwrap().over = true;
        self.signal.notify_all();
    }
}

/// A queue as in `joulio-nvme`, which masks and unmasks in the same order.
struct Core {
    machine: Arc<Machine>,
    seen: usize,
    masked: bool,
    /// Number of completions seen less that of interrupts taken.
    unclaimed: i64,
    /// True if interrupts were enabled all the time, so that each belongs to a completion.
    armed: bool,
}

impl Core {
    fn new(machine: &Arc<Machine>) -> Core {
        Core {
            machine: Arc::clone(machine),
            seen: 0,
            masked: true,
            unclaimed: 0,
            armed: false,
        }
    }

    fn reap(&mut self) -> usize {
        let written = self.machine.written.load(Ordering::Acquire);
        let new = written - self.seen;
        self.seen = written;
        self.unclaimed += new as i64;
        new
    }

    /// Disables interrupts, without waiting until the device knows.
    fn disarm(&mut self) {
        if !std::mem::replace(&mut self.masked, true) {
            self.machine.post(true);
        }
    }
}

impl Watched for Core {
    fn ready(&mut self) -> bool {
        if std::mem::take(&mut self.armed) {
            return false;
        }
        self.machine.written.load(Ordering::Acquire) != self.seen
    }

    fn arm(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let masked = std::mem::replace(&mut self.masked, false);
        self.armed = !masked && self.unclaimed == 0;
        if self.unclaimed <= 0 {
            if masked {
                self.machine.post(false);
            }
            return Ok(());
        }
        if masked {
            self.machine.set(false);
        }
        self.machine.take();
        self.unclaimed = 0;
        Ok(())
    }

    fn block(&mut self, _: Nanos) -> Result<Blocked, Box<dyn Error + Send + Sync>> {
        self.machine.block();
        self.unclaimed -= self.machine.take() as i64;
        Ok(Blocked::Interrupted)
    }
}

/// Number of preemptions: three threads that lock and wait at every step have too many interleavings to try all of
/// them.
const PREEMPTIONS: usize = 2;

fn run(completions: usize, wait: impl Fn(&mut Core, usize) + Send + Sync + 'static) {
    let wait = std::sync::Arc::new(wait);
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS);
    model.check(move || {
        let machine = Machine::new();
        let device = {
            let machine = Arc::clone(&machine);
            loom::thread::spawn(move || (0..completions).for_each(|_| machine.complete()))
        };
        let bus = {
            let machine = Arc::clone(&machine);
            loom::thread::spawn(move || machine.carry())
        };
        let mut core = Core::new(&machine);
        let mut done = 0;
        while done < completions {
            wait(&mut core, done);
            done += core.reap();
        }
        machine.end();
        device.join().unwrap();
        bus.join().unwrap();
    });
}

fn block(core: &mut Core) {
    Waiter::new()
        .run(Step::forever(StepKind::Block), core)
        .unwrap();
}

#[test]
fn blocking_loses_no_completion() {
    run(3, |core, _| block(core));
}

#[test]
fn a_vector_that_is_masked_after_each_block_loses_no_completion() {
    run(3, |core, _| {
        block(core);
        core.disarm();
    });
}

#[test]
fn spinning_between_blocks_loses_no_completion() {
    run(3, |core, done| {
        if done == 1 {
            // The wait is ended by a spin, or given up: the vector is masked, and the core polls.
            core.disarm();
            loom::thread::yield_now();
            return;
        }
        block(core);
        core.disarm();
    });
}

#[test]
fn switching_from_interrupt_to_poll_and_back_loses_no_completion() {
    run(3, |core, done| {
        if done == 1 {
            // Like a queue whose policy no longer blocks: mask, then poll once.
            core.masked = true;
            core.machine.set(true);
            loom::thread::yield_now();
            return;
        }
        block(core);
    });
}

/// Waits like an event loop: `EventGroup::arm` claims the interrupts raised so far, arms and polls; the loop waits
/// for the descriptor, which stays readable until it is armed the next time.
fn wait_for_descriptor(core: &mut Core) {
    core.unclaimed -= core.machine.take() as i64;
    let armed = arm_and_check(
        core,
        |core| core.arm(),
        |core| {
            // The queue is polled whether or not it was armed all the time.
            core.armed = false;
            core.ready()
        },
    );
    if armed.unwrap() {
        core.machine.block();
    }
}

#[test]
fn an_event_loop_loses_no_completion() {
    run(3, |core, _| wait_for_descriptor(core));
}

#[test]
fn an_event_loop_that_polls_between_loses_no_completion() {
    run(3, |core, done| {
        if done == 1 {
            core.disarm();
            loom::thread::yield_now();
            return;
        }
        wait_for_descriptor(core);
    });
}

/// The control: if the poll comes before the arming, there is an interleaving in which the core would block
/// although the only completion is there and no interrupt will come.
#[test]
fn looking_before_arming_would_lose_one() {
    let lost = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let found = std::sync::Arc::clone(&lost);
    loom::model(move || {
        let machine = Machine::new();
        let device = {
            let machine = Arc::clone(&machine);
            loom::thread::spawn(move || machine.complete())
        };
        let mut core = Core::new(&machine);
        let polled = core.ready();
        // Read back, so that the bus needs no thread: interrupts of earlier completions are discarded as old.
        machine.line.lock().unwrap().store(false);
        machine.take();
        device.join().unwrap();
        if !polled && machine.line.lock().unwrap().events == 0 {
            found.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(lost.load(std::sync::atomic::Ordering::Relaxed));
}
