//! Memory that a device may still write to is not reused, and memory that the device has released is freed.

use crate::common::{Seen, Spy, open_spawned, watched};
use joulio_device::{DmaDomain, DmaMapping, DmaMemory};
use joulio_emulator::Fault;
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Addresses that a device can reach, by the purpose of their allocation.
struct Memory {
    admin: BTreeSet<u64>,
    queue: BTreeSet<u64>,
    in_flight: BTreeSet<u64>,
    spare: BTreeSet<u64>,
}

/// Returns the memory of a controller with a read that never completes, and all memory that the device can reach
/// after the buffers, the queue and the controller have been dropped. `before` are faults that come earlier.
fn after_the_end(before: &[Fault], reset: bool) -> (Memory, BTreeSet<u64>) {
    let (controller, seen) =
        open_spawned("drop@#1", Seen::impatient(), ControllerOptions::default());
    let namespace = controller.namespace(1).unwrap();
    let admin = seen.mapped();
    let mut queue = controller.create_queue_pair(4).unwrap();
    let with_queue = seen.mapped();
    let buffer = controller.allocate_buffers(1, 4096).unwrap().remove(0);
    let with_buffer = seen.mapped();
    let spare = controller.allocate_buffers(1, 4096).unwrap();
    let memory = Memory {
        queue: &with_queue - &admin,
        in_flight: &with_buffer - &with_queue,
        spare: &seen.mapped() - &with_buffer,
        admin,
    };
    queue.read(&namespace, 0, 8, buffer, 0).unwrap();
    queue.ring();
    for &fault in before {
        controller.device().emulated().inject(fault);
    }
    if reset {
        controller.reset().unwrap_err();
    }
    drop((spare, queue, controller));
    (memory, seen.mapped())
}

#[test]
fn a_device_that_lets_go_keeps_no_memory() {
    watched(|| {
        let (memory, left) = after_the_end(&[], false);
        assert!(!memory.admin.is_empty() && !memory.queue.is_empty());
        assert!(!memory.in_flight.is_empty() && !memory.spare.is_empty());
        assert_eq!(left, BTreeSet::new());
    });
}

#[test]
fn a_device_that_never_lets_go_keeps_its_memory() {
    watched(|| {
        for reset in [false, true] {
            let (memory, left) = after_the_end(&[Fault::StuckReset, Fault::StuckFlr], reset);
            for kept in [&memory.admin, &memory.queue, &memory.in_flight] {
                assert!(
                    kept.is_subset(&left),
                    "{kept:?} of {left:?}, reset: {reset}"
                );
            }
            assert!(memory.spare.is_disjoint(&left), "reset: {reset}");
        }
    });
}

/// A mapping whose end calls into the controller, as a program may that gets its memory back.
struct Calling {
    memory: DmaMemory,
    controller: Arc<Controller<Spy>>,
    /// Number of resets that the controller reports then.
    resets: Arc<AtomicU64>,
}

impl Drop for Calling {
    fn drop(&mut self) {
        let resets = self.controller.resets();
        // An admin command.
        if self.controller.namespace(1).is_ok() {
            self.resets.store(resets, Ordering::Relaxed);
        }
    }
}

impl DmaMapping for Calling {
    fn domain(&self) -> DmaDomain {
        self.memory.domain()
    }
}

#[test]
fn memory_that_a_reset_releases_is_freed_without_a_lock() {
    watched(|| {
        let (controller, _seen) =
            open_spawned("drop@#1", Seen::default(), ControllerOptions::default());
        let controller = Arc::new(controller);
        let namespace = controller.namespace(1).unwrap();
        let mut queue = controller.create_queue_pair(4).unwrap();
        let memory = controller.allocate(4096).unwrap();
        let (shared, iova) = (memory.share(), memory.iova());
        let resets = Arc::new(AtomicU64::new(u64::MAX));
        let calling = Calling {
            memory,
            controller: Arc::clone(&controller),
            resets: Arc::clone(&resets),
        };
        let memory = DmaMemory::new(shared, iova, calling);
        let buffer = DmaBuffer::carve(memory, 1, 4096).remove(0);
        queue.read(&namespace, 0, 8, buffer, 0).unwrap();
        queue.ring();
        drop(queue);
        assert_eq!(resets.load(Ordering::Relaxed), u64::MAX);
        controller.reset().unwrap();
        assert_eq!(resets.load(Ordering::Relaxed), 1);
    });
}
