//! The driver with a reactor: pollers that each have a drive.

use super::driver::{BLOCKS, CompletesMeanwhile};
use joulio_emulator::EmulatedDevice;
use joulio_nvme::{Completed, DmaBuffer, Namespace, NextCall, Poller, PollerQueues, Reactor};
use std::hint::black_box;

/// Keeps one read in flight.
struct Reader {
    device: CompletesMeanwhile,
    namespace: Namespace,
    buffer: Option<DmaBuffer>,
    next: u64,
    good: usize,
}

impl Poller<EmulatedDevice> for Reader {
    fn completed(&mut self, _: usize, completed: Completed) {
        self.good += usize::from(completed.status.is_success());
        self.buffer = completed.buffer;
    }

    fn poll(&mut self, queues: &mut PollerQueues<'_, EmulatedDevice>) -> NextCall {
        if let Some(buffer) = self.buffer.take() {
            let lba = self.next & 0xffff8;
            self.next += 8;
            let queue = &mut queues[0];
            let submitted = queue.read(&self.namespace, lba, BLOCKS, buffer, self.next);
            if submitted.is_err() {
                unreachable!("there is a slot");
            }
            queue.ring();
            self.device.device();
        }
        NextCall::OnEvent
    }
}

#[inline(never)]
fn reactor_reap(reactor: &mut Reactor<EmulatedDevice, Reader>) {
    assert!(reactor.turn().is_ok());
}

/// Runs `count` pollers, each with a read in flight, which has completed when it is polled for.
pub fn run(ios: usize, count: usize) {
    let mut reactor = Reactor::new().expect("a descriptor");
    let mut controllers = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..count {
        let (controller, stepper) = super::open(1);
        let queue = controller.create_queue_pair(1).expect("it has queues");
        let mut buffers = controller.allocate_buffers(1, 4096).expect("memory");
        let reader = Reader {
            device: CompletesMeanwhile(stepper),
            namespace: controller.namespace(1).expect("it has one"),
            buffer: buffers.pop(),
            next: 0,
            good: 0,
        };
        ids.push(reactor.add(reader, vec![queue]));
        controllers.push(controller);
    }
    for _ in 0..ios / count {
        reactor_reap(black_box(&mut reactor));
    }
    let good: usize = ids.iter().map(|&id| reactor.poller(id).good).sum();
    assert_eq!(good, ios / count * count);
}
