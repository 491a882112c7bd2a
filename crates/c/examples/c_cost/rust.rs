//! The loop over the Rust driver.

use crate::BLOCKS;
use joulio_emulator::EmulatedDevice;
use joulio_nvme::{DmaBuffer, Namespace, PollGroup};
use joulio_units::Nanos;
use std::hint::black_box;

struct Driver {
    group: PollGroup<EmulatedDevice>,
    namespace: Namespace,
    buffers: Vec<DmaBuffer>,
    next: u64,
}

#[inline(never)]
fn rust_submit(driver: &mut Driver) {
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
fn rust_reap(driver: &mut Driver, depth: usize) -> usize {
    let buffers = &mut driver.buffers;
    let mut good = 0;
    let reaped = driver.group.reap(depth, None, |_, done| {
        good += usize::from(done.status.is_success());
        buffers.extend(done.buffer);
    });
    assert!(reaped.is_ok());
    good
}

pub fn run(ios: usize, depth: usize) {
    let (controller, stepper) = crate::open();
    let pair = controller.create_queue_pair(depth).expect("it has queues");
    let mut driver = Driver {
        group: PollGroup::new(vec![pair]),
        namespace: controller.namespace(1).expect("it has one"),
        buffers: controller.allocate_buffers(depth, 4096).expect("memory"),
        next: 0,
    };
    for _ in 0..ios / depth {
        rust_submit(black_box(&mut driver));
        stepper.step(Nanos::ZERO);
        assert_eq!(rust_reap(black_box(&mut driver), depth), depth);
    }
}
