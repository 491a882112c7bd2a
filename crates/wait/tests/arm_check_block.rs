//! Every interleaving of a core that blocks for interrupts and a device that raises them.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p joulio-wait --test arm_check_block --release`
//!
//! A lost wake-up is a core that blocks for ever, which loom reports as a deadlock. The last test
//! shows that the model has one to find.
#![cfg(loom)]

use joulio_units::Nanos;
use joulio_wait::{Blocked, Step, StepKind, Waiter, Watched};
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use std::error::Error;

/// An MSI-X vector (PCI 3.0, 6.8.2) and the eventfd behind it.
#[derive(Default)]
struct Line {
    masked: bool,
    pending: bool,
    events: u64,
}

struct Machine {
    /// Completions that the device has written.
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

    /// The device: the completion first, then the interrupt.
    fn complete(&self) {
        self.written.fetch_add(1, Ordering::Release);
        let mut line = self.line.lock().unwrap();
        if line.masked {
            line.pending = true;
        } else {
            line.events += 1;
            self.signal.notify_one();
        }
    }

    fn unmask(&self) {
        let mut line = self.line.lock().unwrap();
        line.masked = false;
        if std::mem::take(&mut line.pending) {
            line.events += 1;
            self.signal.notify_one();
        }
    }

    fn mask(&self) {
        self.line.lock().unwrap().masked = true;
    }

    fn clear(&self) {
        self.line.lock().unwrap().events = 0;
    }

    fn block(&self) {
        let mut line = self.line.lock().unwrap();
        while line.events == 0 {
            line = self.signal.wait(line).unwrap();
        }
        line.events = 0;
    }
}

struct Core {
    machine: Arc<Machine>,
    seen: usize,
    masked: bool,
}

impl Core {
    fn reap(&mut self) -> usize {
        let written = self.machine.written.load(Ordering::Acquire);
        let new = written - self.seen;
        self.seen = written;
        new
    }
}

impl Watched for Core {
    fn ready(&mut self) -> bool {
        self.machine.written.load(Ordering::Acquire) != self.seen
    }

    fn arm(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        if self.masked {
            self.machine.unmask();
            self.masked = false;
        }
        self.machine.clear();
        Ok(())
    }

    fn block(&mut self, _: Nanos) -> Result<Blocked, Box<dyn Error + Send + Sync>> {
        self.machine.block();
        Ok(Blocked::Interrupted)
    }
}

fn run(completions: usize, wait: impl Fn(&mut Core, usize) + Send + Sync + 'static) {
    let wait = std::sync::Arc::new(wait);
    loom::model(move || {
        let machine = Machine::new();
        let device = {
            let machine = Arc::clone(&machine);
            loom::thread::spawn(move || (0..completions).for_each(|_| machine.complete()))
        };
        let mut core = Core {
            machine,
            seen: 0,
            masked: true,
        };
        let mut done = 0;
        while done < completions {
            wait(&mut core, done);
            done += core.reap();
        }
        device.join().unwrap();
    });
}

#[test]
fn blocking_loses_no_completion() {
    run(3, |core, _| {
        Waiter::new()
            .run(Step::forever(StepKind::Block), core)
            .unwrap();
    });
}

#[test]
fn switching_from_interrupt_to_poll_and_back_loses_no_completion() {
    run(3, |core, done| {
        if done == 1 {
            // As a queue does when its policy no longer blocks: mask, then look once.
            core.machine.mask();
            core.masked = true;
            loom::thread::yield_now();
            return;
        }
        Waiter::new()
            .run(Step::forever(StepKind::Block), core)
            .unwrap();
    });
}

/// The control: with the look before the arming there is an interleaving in which the core would
/// block although the only completion is there and no interrupt will come.
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
        let mut core = Core {
            machine: Arc::clone(&machine),
            seen: 0,
            masked: true,
        };
        let looked = core.ready();
        core.arm().unwrap();
        device.join().unwrap();
        if !looked && machine.line.lock().unwrap().events == 0 {
            found.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(lost.load(std::sync::atomic::Ordering::Relaxed));
}
