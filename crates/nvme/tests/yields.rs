//! A core that spins while the device is a thread of the same process, with too few CPUs for both.

#[path = "all/common/mod.rs"]
mod common;

use common::{instant, watched};
use joulio_emulator::EmulatedDevice;
use joulio_nvme::wait::{AnyPolicy, BusyThread, now};
use joulio_nvme::{
    Completed, Controller, ControllerOptions, DmaBuffer, Namespace, NextCall, PollGroup, Poller,
    PollerQueues, Reactor,
};
use joulio_units::Nanos;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::atomic::{AtomicBool, Ordering};

const IOS: u64 = 1_000;

/// Binds the calling thread, and the threads that it starts, to one CPU.
fn pin_to_one_cpu() {
    let allowed = sched_getaffinity(None).unwrap();
    let first = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu));
    let mut one = CpuSet::new();
    one.set(first.unwrap());
    sched_setaffinity(None, &one).unwrap();
}

#[test]
fn a_spin_gives_the_only_cpu_to_the_device() {
    watched(|| {
        pin_to_one_cpu();
        let device = EmulatedDevice::spawn(&instant()).unwrap();
        let controller = Controller::open(device, ControllerOptions::default()).unwrap();
        let namespace = controller.namespace(1).unwrap();
        let mut queue = controller.create_queue_pair(1).unwrap();
        queue.set_policy(AnyPolicy::POLL).unwrap();
        let mut group = PollGroup::new(vec![queue]);
        let mut buffer = controller.allocate_buffers(1, 512).unwrap().pop();
        for tag in 0..IOS {
            let queue = &mut group.queues()[0];
            queue
                .read(&namespace, 0, 1, buffer.take().unwrap(), tag)
                .unwrap();
            queue.ring();
            let reaped = group.reap(1, None, |_, completed| buffer = completed.buffer);
            assert_eq!(reaped.unwrap(), 1);
        }
        let counters = group.counters();
        assert!(counters.yields > 0, "{counters:?}");
        assert!(counters.blocks + counters.sleeps == 0, "{counters:?}");
    });
}

#[test]
fn a_spin_for_a_device_elsewhere_yields_never() {
    pin_to_one_cpu();
    let _many: Vec<BusyThread> = (0..3).map(|_| BusyThread::register()).collect();
    let (device, _stepper) = EmulatedDevice::stepped(&instant()).unwrap();
    let controller = Controller::open(device, ControllerOptions::default()).unwrap();
    let namespace = controller.namespace(1).unwrap();
    let mut group = PollGroup::new(vec![controller.create_queue_pair(1).unwrap()]);
    let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
    let queue = &mut group.queues()[0];
    queue.read(&namespace, 0, 1, buffer, 0).unwrap();
    queue.ring();
    let deadline = now() + Nanos::from_millis(2);
    assert_eq!(group.reap(1, Some(deadline), |_, _| {}).unwrap(), 0);
    let counters = group.counters();
    assert!(counters.empty_polls > 0, "{counters:?}");
    assert_eq!(counters.yields, 0, "{counters:?}");
}

/// A poller with one read in flight that never completes, called every millisecond.
struct Waits(Namespace, Option<DmaBuffer>);

impl Poller<EmulatedDevice> for Waits {
    fn completed(&mut self, _: usize, _: Completed) {}
    fn poll(&mut self, queues: &mut PollerQueues<'_, EmulatedDevice>) -> NextCall {
        if let Some(buffer) = self.1.take() {
            queues[0].read(&self.0, 0, 1, buffer, 0).unwrap();
            queues[0].ring();
        }
        NextCall::At(now() + Nanos::from_millis(1))
    }
}

#[test]
fn a_reactor_that_spins_hands_its_core_to_a_thread_that_wants_it() {
    watched(|| {
        pin_to_one_cpu();
        let (device, _stepper) = EmulatedDevice::stepped(&instant()).unwrap();
        let controller = Controller::open(device, ControllerOptions::default()).unwrap();
        let queue = controller.create_queue_pair(1).unwrap();
        let namespace = controller.namespace(1).unwrap();
        let buffer = controller.allocate_buffers(1, 512).unwrap().pop();
        let mut reactor = Reactor::new().unwrap();
        reactor.add(Waits(namespace, buffer), vec![queue]);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            while reactor.group().counters().yields == 0 {
                assert!(reactor.turn().unwrap());
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}
