//! The driver with many queues in one group, of one controller or of many.

use super::driver::BLOCKS;
use joulio_emulator::{EmulatedDevice, Stepper};
use joulio_nvme::wait::{AnyPolicy, now};
use joulio_nvme::{Controller, DmaBuffer, Namespace, PollGroup};
use joulio_units::Nanos;
use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Number of I/Os in flight on all queues together.
const SPREAD: usize = 32;

/// A group, and the free buffers, each with the queue that it is for.
struct Many {
    group: PollGroup<EmulatedDevice>,
    namespaces: Vec<Namespace>,
    free: Vec<(usize, DmaBuffer)>,
    next: u64,
}

/// Submits one I/O to the queue of each free buffer, each with a doorbell of its own.
#[inline(never)]
fn many_submit(many: &mut Many) {
    while let Some((index, buffer)) = many.free.pop() {
        let lba = many.next & 0xffff8;
        many.next += 8;
        let namespace = &many.namespaces[index];
        let queue = &mut many.group.queues()[index];
        let submitted = queue.read(namespace, lba, BLOCKS, buffer, index as u64);
        if submitted.is_err() {
            unreachable!("there are as many buffers as slots");
        }
        queue.ring();
    }
}

#[inline(never)]
fn many_reap(many: &mut Many, min: usize, deadline: Option<Nanos>) -> usize {
    let free = &mut many.free;
    let mut good = 0;
    let reaped = many.group.reap(min, deadline, |index, done| {
        good += usize::from(done.status.is_success());
        free.extend(done.buffer.map(|buffer| (index, buffer)));
    });
    assert!(reaped.is_ok());
    good
}

/// Number of queues of one controller.
const EACH: usize = 256;

/// Runs 32 I/Os, each on a different one of `count` queues as far as there are enough.
pub fn queues(ios: usize, count: usize) {
    spread(ios, count, SPREAD.min(count));
}

/// Runs 32 I/Os on one of `count` queues; the others have none.
pub fn idle(ios: usize, count: usize) {
    spread(ios, count, 1);
}

/// Runs 32 I/Os spread over `busy` of `count` queues.
fn spread(ios: usize, count: usize, busy: usize) {
    let shares = (0..count.div_ceil(EACH)).map(|nth| EACH.min(count - nth * EACH));
    let opened = shares.clone().map(|share| super::open(share as u16));
    let (controllers, steppers): (Vec<_>, Vec<_>) = opened.unzip();
    let depth = SPREAD.div_ceil(busy);
    let all = controllers.iter().zip(shares);
    let queues = all.flat_map(|(controller, share)| {
        (0..share).map(|_| controller.create_queue_pair(depth).expect("it has queues"))
    });
    let queues: Vec<_> = queues.collect();
    let spread = (0..SPREAD).map(|at| {
        let index = at * busy / SPREAD * count / busy;
        let controller = &controllers[index / EACH];
        let mut buffers = controller.allocate_buffers(1, 4096).expect("memory");
        (index, buffers.remove(0))
    });
    let spread: Vec<_> = spread.collect();
    let namespaces = (0..count).map(|index| {
        let controller = &controllers[index / EACH];
        controller.namespace(1).expect("it has one")
    });
    let mut many = Many {
        group: PollGroup::new(queues),
        namespaces: namespaces.collect(),
        free: spread,
        next: 0,
    };
    for _ in 0..ios / SPREAD {
        many_submit(black_box(&mut many));
        for stepper in &steppers {
            stepper.step(Nanos::ZERO);
        }
        assert_eq!(many_reap(black_box(&mut many), SPREAD, None), SPREAD);
    }
}

struct Drives {
    many: Many,
    /// Kept open.
    _controllers: Vec<Controller<EmulatedDevice>>,
    steppers: Vec<Stepper>,
}

/// Returns `count` drives with one queue each in one group, which waits with `policy`.
fn drives(count: usize, policy: fn() -> AnyPolicy) -> Drives {
    let opened = (0..count).map(|_| super::open(1));
    let (controllers, steppers): (Vec<_>, Vec<_>) = opened.unzip();
    let queues = controllers.iter().map(|controller| {
        let mut queue = controller.create_queue_pair(1).expect("it has queues");
        queue.set_policy(policy()).expect("every machine has it");
        queue
    });
    let buffers = controllers.iter().enumerate().map(|(index, controller)| {
        let mut buffers = controller.allocate_buffers(1, 4096).expect("memory");
        (index, buffers.remove(0))
    });
    let namespaces = controllers.iter();
    let namespaces = namespaces.map(|controller| controller.namespace(1).expect("it has one"));
    Drives {
        many: Many {
            group: PollGroup::new(queues.collect()),
            namespaces: namespaces.collect(),
            free: buffers.collect(),
            next: 0,
        },
        _controllers: controllers,
        steppers,
    }
}

/// Polls `count` drives: all I/Os in flight complete before a poll.
pub fn together(ios: usize, count: usize) {
    let mut drives = drives(count, || AnyPolicy::POLL);
    let many = &mut drives.many;
    for _ in 0..ios / count {
        many_submit(black_box(many));
        for stepper in &drives.steppers {
            stepper.step(Nanos::ZERO);
        }
        assert_eq!(many_reap(black_box(many), count, None), count);
    }
}

/// Polls `count` drives: the others stay in flight while one after the other completes.
pub fn poll(ios: usize, count: usize) {
    let mut drives = drives(count, || AnyPolicy::POLL);
    let many = &mut drives.many;
    for turn in 0..ios {
        many_submit(black_box(many));
        drives.steppers[turn % count].step(Nanos::ZERO);
        assert_eq!(many_reap(black_box(many), 1, None), 1);
    }
}

/// Waits for `count` drives with interrupts: each completes some time after the core has blocked.
pub fn block(ios: usize, count: usize) {
    let mut drives = drives(count, || AnyPolicy::INTERRUPT);
    let (many, steppers) = (&mut drives.many, drives.steppers);
    let (turns, next) = channel::<usize>();
    thread::scope(|scope| {
        scope.spawn(move || {
            for turn in next {
                thread::sleep(Duration::from_millis(2));
                steppers[turn % count].step(Nanos::ZERO);
            }
        });
        for turn in 0..ios {
            many_submit(black_box(many));
            turns.send(turn).expect("it steps");
            // Longer than the example may take.
            let deadline = now() + Nanos::from_millis(600_000);
            assert_eq!(many_reap(black_box(many), 1, Some(deadline)), 1);
        }
        drop(turns);
    });
    let counters = many.group.counters();
    println!(
        "{ios} I/Os, {} blocks, {} interrupts",
        counters.blocks, counters.interrupts
    );
}
