//! As many queue pairs as a controller has, all at the same time.

#[path = "all/common/mod.rs"]
mod common;

use joulio_emulator::EmulatedDevice;
use joulio_nvme::wait::{AnyPolicy, now};
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer, NvmeError, PollGroup};
use joulio_units::Nanos;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Raises the limit of descriptors: two eventfds per vector are more than most shells allow.
fn allow_descriptors(wanted: u64) {
    let limit = getrlimit(Resource::Nofile);
    let maximum = limit.maximum.unwrap_or(u64::MAX);
    assert!(maximum >= wanted, "ulimit -Hn is {maximum}, not {wanted}");
    let current = limit.current.map(|current| current.max(wanted));
    let current = Some(current.unwrap_or(maximum));
    let maximum = limit.maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
}

const ROUNDS: u64 = 4;

/// Writes a block on every queue in each round and reads it back; each queue is woken for each of them.
fn all_at_once(pairs: u16) {
    allow_descriptors(2048);
    let mut options = common::instant();
    options.queue_pairs = pairs;
    options.vectors = pairs + 1;
    let (device, stepper) = EmulatedDevice::stepped(&options).unwrap();
    let queues = pairs;
    let controller = Controller::open(
        device,
        ControllerOptions {
            queues,
            ..ControllerOptions::default()
        },
    )
    .unwrap();
    let namespace = controller.namespace(1).unwrap();
    assert_eq!(controller.max_queues(), usize::from(pairs));
    let mut group = PollGroup::new(
        (0..pairs)
            .map(|_| {
                let mut queue = controller.create_queue_pair(4).unwrap();
                queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
                queue
            })
            .collect(),
    );
    let none_left = controller.create_queue_pair(4).err();
    assert!(
        matches!(none_left, Some(NvmeError::NoQueue { have, .. }) if have == usize::from(pairs))
    );
    // A wait with nothing in flight unmasks every vector; without it, a completion before a queue first blocks
    // would raise no interrupt.
    let soon = now() + Nanos::from_millis(1);
    assert_eq!(group.reap(1, Some(soon), |_, _| {}).unwrap(), 0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stepping = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                stepper.step(Nanos::ZERO);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut buffers = controller.allocate_buffers(pairs.into(), 512).unwrap();
        for round in 0..ROUNDS {
            let content = |queue: usize| [round as u8 ^ queue as u8; 512];
            for write in [true, false] {
                for (index, mut buffer) in buffers.drain(..).enumerate() {
                    buffer.write(0, &if write { content(index) } else { [0xa5; 512] });
                    let (queue, lba) = (&mut group.queues()[index], index as u64);
                    let submitted = if write {
                        queue.write(&namespace, lba, 1, buffer, lba)
                    } else {
                        queue.read(&namespace, lba, 1, buffer, lba)
                    };
                    submitted.unwrap();
                    queue.ring();
                }
                let mut back: Vec<Option<DmaBuffer>> = (0..pairs).map(|_| None).collect();
                let reaped = group.reap(pairs.into(), None, |queue, done| {
                    assert!(done.status.is_success() && done.tag == queue as u64);
                    assert!(back[queue].is_none(), "queue {queue} completed twice");
                    back[queue] = done.buffer;
                });
                assert_eq!(reaped.unwrap(), usize::from(pairs));
                buffers.extend(back.into_iter().map(Option::unwrap));
            }
            for (index, buffer) in buffers.iter().enumerate() {
                let mut data = [0; 512];
                buffer.read(0, &mut data);
                assert_eq!(data, content(index), "queue {index}, round {round}");
            }
        }
        stop.store(true, Ordering::Relaxed);
        stepping.join().unwrap();
    });
    let counters = group.queue_counters();
    for (queue, counters) in group.queues().iter().zip(counters) {
        let id = queue.info().id;
        assert_eq!(counters.interrupts, 2 * ROUNDS, "{id:?}");
        assert_eq!(
            (queue.outstanding(), queue.faults()),
            (0, Default::default())
        );
    }
    assert_eq!(controller.device().activity().interrupts_lost, 0);
}

#[test]
fn eight_queue_pairs_are_each_woken_for_each_io() {
    all_at_once(8);
}

#[test]
fn two_hundred_and_fifty_six_queue_pairs_are_each_woken_for_each_io() {
    all_at_once(256);
}
