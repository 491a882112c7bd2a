//! The driver with one queue.

use joulio_emulator::{EmulatedDevice, Stepper};
use joulio_nvme::{Controller, DmaBuffer, Namespace, PollGroup};
use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Outstanding, Policy, Step, StepKind, StepSet};
use std::borrow::Cow;
use std::hint::black_box;

/// Number of blocks of an I/O: 4 KiB.
pub const BLOCKS: u32 = 8;

struct Driver {
    group: PollGroup<EmulatedDevice>,
    namespace: Namespace,
    buffers: Vec<DmaBuffer>,
    next: u64,
}

#[inline(never)]
fn driver_submit(driver: &mut Driver) {
    let queue = &mut driver.group.queues()[0];
    while let Some(buffer) = driver.buffers.pop() {
        let lba = driver.next & 0xffff8;
        driver.next += 8;
        if queue
            .read(&driver.namespace, lba, BLOCKS, buffer, driver.next)
            .is_err()
        {
            unreachable!("there are as many buffers as slots");
        }
    }
    queue.ring();
}

#[inline(never)]
fn driver_reap(driver: &mut Driver, depth: usize) -> usize {
    let buffers = &mut driver.buffers;
    let mut good = 0;
    let reaped = driver.group.reap(depth, None, |_, done| {
        good += usize::from(done.status.is_success());
        buffers.extend(done.buffer);
    });
    assert!(reaped.is_ok());
    good
}

/// Submits one read, at depth 1.
#[inline(never)]
fn one_submit(driver: &mut Driver) {
    let Some(buffer) = driver.buffers.pop() else {
        unreachable!("it came back");
    };
    let lba = driver.next & 0xffff8;
    driver.next += 8;
    let queue = &mut driver.group.queues()[0];
    if queue
        .read(&driver.namespace, lba, BLOCKS, buffer, driver.next)
        .is_err()
    {
        unreachable!("there is a slot");
    }
    queue.ring();
}

#[inline(never)]
fn one_reap(driver: &mut Driver) -> usize {
    let buffers = &mut driver.buffers;
    let mut good = 0;
    let reaped = driver.group.reap(1, None, |_, done| {
        good += usize::from(done.status.is_success());
        buffers.extend(done.buffer);
    });
    assert!(reaped.is_ok());
    good
}

/// A policy that polls. Its device completes when it plans, after the first empty poll.
pub struct CompletesMeanwhile(pub Stepper);

impl CompletesMeanwhile {
    /// Completes the submitted commands; the instructions of this function are not counted.
    #[inline(never)]
    pub fn device(&self) {
        self.0.step(Nanos::ZERO);
    }
}

impl Policy for CompletesMeanwhile {
    fn name(&self) -> Cow<'static, str> {
        "completes-meanwhile".into()
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin)
    }

    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        self.device();
        Step::SPIN
    }
}

fn driver(controller: &Controller<EmulatedDevice>, depth: usize) -> Driver {
    let pair = controller.create_queue_pair(depth).expect("it has queues");
    Driver {
        group: PollGroup::new(vec![pair]),
        namespace: controller.namespace(1).expect("it has one"),
        buffers: controller.allocate_buffers(depth, 4096).expect("memory"),
        next: 0,
    }
}

pub fn run(ios: usize, depth: usize) {
    let (controller, stepper) = super::open(2);
    println!("memory of a queue pair of depth 256: {} bytes", {
        let pair = controller.create_queue_pair(256).expect("it has queues");
        pair.info().memory
    });
    let mut driver = driver(&controller, depth);
    for _ in 0..ios / depth {
        match depth {
            1 => one_submit(black_box(&mut driver)),
            _ => driver_submit(black_box(&mut driver)),
        }
        stepper.step(Nanos::ZERO);
        let reaped = match depth {
            1 => one_reap(black_box(&mut driver)),
            _ => driver_reap(black_box(&mut driver), depth),
        };
        assert_eq!(reaped, depth);
    }
}

/// Like [`run`], but the completions come during a wait.
pub fn waited(ios: usize, depth: usize) {
    let (controller, stepper) = super::open(2);
    let mut driver = driver(&controller, depth);
    let policy = AnyPolicy::Other(Box::new(CompletesMeanwhile(stepper)));
    let queue = &mut driver.group.queues()[0];
    queue.set_policy(policy).expect("it only spins");
    for _ in 0..ios / depth {
        match depth {
            1 => one_submit(black_box(&mut driver)),
            _ => driver_submit(black_box(&mut driver)),
        }
        let reaped = match depth {
            1 => one_reap(black_box(&mut driver)),
            _ => driver_reap(black_box(&mut driver), depth),
        };
        assert_eq!(reaped, depth);
    }
}
