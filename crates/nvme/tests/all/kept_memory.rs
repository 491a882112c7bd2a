//! Memory that a device may still write to is not reused, and memory that the device has released is freed.

use crate::common::{Seen, open_spawned, watched};
use joulio_emulator::Fault;
use joulio_nvme::ControllerOptions;
use std::collections::BTreeSet;

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
