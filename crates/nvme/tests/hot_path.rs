//! What an I/O must not do, however the core waits for it, and what a queue pair may take.

mod common;

use joulio_nvme::wait::{
    AnyPolicy, Counters, Dpas, Ehp, Hybrid, HybridTpause, Pas, Policy, SkiRental, Tpause, Umwait,
    UringHybrid, Waiter,
};
use joulio_nvme::{PollGroup, SubmitError};
use joulio_units::Nanos;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: the system's allocator does the work; the count does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: by the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn submitting_and_reaping_allocates_nothing() {
    for traced in [false, true] {
        assert_eq!(allocations(traced), 0, "traced: {traced}");
    }
}

fn allocations(traced: bool) -> u64 {
    let (controller, stepper, _) = common::open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(32).unwrap();
    if traced {
        queue.start_trace(1000);
    }
    let mut group = PollGroup::new(vec![queue]);
    let mut buffers = controller.allocate_buffers(32, 32 << 10).unwrap();
    let mut counted = 0;
    for round in 0..200 {
        let before = ALLOCATIONS.get();
        while let Some(buffer) = buffers.pop() {
            // Up to 32 KiB: one page, two, and a list.
            let blocks = 8 << (round % 4);
            group.queues()[0]
                .read(&namespace, 0, blocks, buffer, 0)
                .unwrap();
        }
        group.queues()[0].ring();
        counted += ALLOCATIONS.get() - before;
        stepper.step(Nanos::ZERO);
        let before = ALLOCATIONS.get();
        group
            .reap(32, None, |_, done| buffers.extend(done.buffer))
            .unwrap();
        counted += ALLOCATIONS.get() - before;
        assert_eq!(buffers.len(), 32);
    }
    counted
}

/// Every policy whose steps this machine has; user interrupts need a device of real ones.
fn policies() -> Vec<AnyPolicy> {
    let micros = Nanos::from_micros;
    let all = vec![
        AnyPolicy::POLL,
        AnyPolicy::INTERRUPT,
        AnyPolicy::Hybrid(Hybrid::automatic()),
        AnyPolicy::Hybrid(Hybrid::fixed(micros(4))),
        AnyPolicy::UringHybrid(UringHybrid::new()),
        AnyPolicy::Ehp(Ehp::new()),
        AnyPolicy::Pas(Pas::new()),
        AnyPolicy::Dpas(Dpas::new(Dpas::THETA)),
        AnyPolicy::SkiRental(SkiRental::new(micros(0))),
        AnyPolicy::SkiRental(SkiRental::new(micros(20))),
        AnyPolicy::Tpause(Tpause::new(micros(1))),
        AnyPolicy::HybridTpause(HybridTpause::new()),
        AnyPolicy::Umwait(Umwait),
    ];
    let machine = Waiter::new().can();
    all.into_iter()
        .filter(|policy| policy.steps().and(machine) == policy.steps())
        .collect()
}

/// Allocations of `rounds` I/Os one at a time on each of `queues`, after as many that warm up; a
/// thread of its own steps the device, so that the core has to wait.
fn allocations_of_waits(
    policy: fn(usize) -> AnyPolicy,
    which: usize,
    queues: usize,
) -> (u64, Counters) {
    let (controller, stepper, _) = common::open();
    let namespace = controller.namespace(1).unwrap();
    let members = (0..queues).map(|_| {
        let mut queue = controller.create_queue_pair(1).unwrap();
        queue.set_policy(policy(which)).unwrap();
        queue
    });
    let mut group = PollGroup::new(members.collect());
    let mut buffers = controller.allocate_buffers(queues, 512).unwrap();
    let stop = AtomicBool::new(false);
    let mut counted = 0;
    std::thread::scope(|scope| {
        let stepping = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                stepper.step(Nanos::ZERO);
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        for round in 0..60 {
            let before = ALLOCATIONS.get();
            for queue in group.queues() {
                let buffer = buffers.pop().unwrap();
                queue.read(&namespace, 0, 1, buffer, 0).unwrap();
                queue.ring();
            }
            group
                .reap(queues, None, |_, done| buffers.extend(done.buffer))
                .unwrap();
            // The first waits find out what there is.
            if round >= 20 {
                counted += ALLOCATIONS.get() - before;
            }
        }
        stop.store(true, Ordering::Relaxed);
        stepping.join().unwrap();
    });
    (counted, group.counters())
}

#[test]
fn no_policy_allocates_while_it_waits() {
    for which in 0..policies().len() {
        for queues in [1, 2] {
            let policy = |which| policies().swap_remove(which);
            let name = policy(which).name().into_owned();
            let (allocations, counters) = allocations_of_waits(policy, which, queues);
            assert_eq!(allocations, 0, "{name} on {queues} queues: {counters:?}");
            if name == "interrupt" {
                assert!(counters.blocks > 40, "{counters:?}");
            }
        }
    }
}

#[test]
fn a_queue_pair_of_256_takes_less_than_a_mebibyte() {
    let (controller, _stepper, _) = common::open();
    let queue = controller.create_queue_pair(256).unwrap();
    assert!(queue.memory() < 1 << 20, "{} bytes", queue.memory());
}

#[test]
fn a_batch_goes_out_behind_one_doorbell_write() {
    let (controller, stepper, seen) = common::open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(32).unwrap();
    let buffers = controller.allocate_buffers(32, 512).unwrap();
    let before = seen.rings();
    for (tag, buffer) in buffers.into_iter().enumerate() {
        queue
            .read(&namespace, tag as u64, 1, buffer, tag as u64)
            .unwrap();
    }
    assert_eq!(stepper.step(Nanos::ZERO).fetched, 0);
    queue.ring();
    assert_eq!(seen.rings() - before, 1);
    assert_eq!(stepper.step(Nanos::ZERO).fetched, 32);
    assert_eq!(queue.reap(usize::MAX, drop), Ok(32));
    assert_eq!(seen.rings() - before, 2);
}

#[test]
fn a_buffer_of_another_device_is_refused() {
    let (one, _stepper_one, _) = common::open();
    let (other, _stepper_other, _) = common::open();
    let namespace = one.namespace(1).unwrap();
    let mut queue = one.create_queue_pair(4).unwrap();
    let theirs = other.allocate_buffers(1, 512).unwrap().remove(0);
    let rejected = queue.read(&namespace, 0, 1, theirs, 0).unwrap_err();
    assert_eq!(rejected.reason, SubmitError::Foreign);
    let ours = one.allocate_buffers(1, 512).unwrap().remove(0);
    let rejected = queue
        .read(&other.namespace(1).unwrap(), 0, 1, ours, 0)
        .unwrap_err();
    assert_eq!(rejected.reason, SubmitError::Foreign);
}
