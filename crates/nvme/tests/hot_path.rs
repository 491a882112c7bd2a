//! What an I/O must not do, however the core waits for it, and the memory that a queue pair may use.
//!
//! Allocations are counted with every policy that this CPU and the emulated device can do; the others are printed
//! with the reason.

#[path = "all/common/mod.rs"]
mod common;

use allocation_counter::measure;
use common::Spy;
use common::policies::{self, Waits};
use joulio_nvme::wait::{AnyPolicy, Policy, now};
use joulio_nvme::{
    Completed, DmaBuffer, Namespace, NextCall, PollGroup, Poller, PollerQueues, Reactor,
    SubmitError,
};
use joulio_units::Nanos;

#[test]
fn submitting_and_reaping_allocates_nothing() {
    for traced in [false, true] {
        assert_eq!(allocations(traced), 0, "traced: {traced}");
    }
}

/// Returns the number of allocations in `what`; not 0 either if it frees memory that was allocated before.
fn touched(what: impl FnOnce()) -> u64 {
    let done = measure(what);
    done.count_total + done.count_current.unsigned_abs()
}

fn allocations(traced: bool) -> u64 {
    let (controller, stepper, _) = common::open();
    let namespace = controller.namespace(1).unwrap();
    let queue = controller.create_queue_pair(32).unwrap();
    let mut group = PollGroup::new(vec![queue]);
    if traced {
        group.start_trace(1000);
    }
    let mut buffers = controller.allocate_buffers(32, 32 << 10).unwrap();
    let mut counted = 0;
    for round in 0..200 {
        counted += touched(|| {
            while let Some(buffer) = buffers.pop() {
                // Up to 32 KiB: one page, two pages, and a list.
                let blocks = 8 << (round % 4);
                group.queues()[0]
                    .read(&namespace, 0, blocks, buffer, 0)
                    .unwrap();
            }
            group.queues()[0].ring();
        });
        stepper.step(Nanos::ZERO);
        counted += touched(|| {
            group
                .reap(32, None, |_, done| buffers.extend(done.buffer))
                .unwrap();
        });
        assert_eq!(buffers.len(), 32);
    }
    counted
}

/// Reads one block after the other, and also asks to be called again soon.
struct Reader {
    namespace: Namespace,
    buffer: Option<DmaBuffer>,
    reads: u64,
}

impl Poller<Spy> for Reader {
    fn completed(&mut self, _: usize, completed: Completed) {
        self.buffer = completed.buffer;
    }
    fn poll(&mut self, queues: &mut PollerQueues<'_, Spy>) -> NextCall {
        if let Some(buffer) = self.buffer.take() {
            self.reads += 1;
            queues[0].read(&self.namespace, 0, 1, buffer, 0).unwrap();
            queues[0].ring();
        }
        NextCall::Promptly(now() + Nanos::from_micros(50))
    }
}

#[test]
fn a_turn_of_a_reactor_allocates_nothing() {
    for policy in [|| AnyPolicy::POLL, || AnyPolicy::INTERRUPT] {
        let (controller, stepper, _) = common::open();
        let mut reactor = Reactor::new().unwrap();
        let mut ids = Vec::new();
        for _ in 0..2 {
            let mut queue = controller.create_queue_pair(1).unwrap();
            queue.set_policy(policy()).unwrap();
            let reader = Reader {
                namespace: controller.namespace(1).unwrap(),
                buffer: controller.allocate_buffers(1, 512).unwrap().pop(),
                reads: 0,
            };
            ids.push(reactor.add(reader, vec![queue]));
        }
        let mut counted = 0;
        for turn in 0..400 {
            // In every other turn the core waits, for the timer.
            if turn % 2 == 0 {
                stepper.step(Nanos::ZERO);
            }
            let touched = touched(|| assert!(reactor.turn().unwrap()));
            // The first turns find out what there is to wait for.
            counted += if turn < 4 { 0 } else { touched };
        }
        assert_eq!(counted, 0);
        let counters = reactor.counters();
        assert!(counters.waits > 0 && counters.timers > 0, "{counters:?}");
        assert!(ids.iter().all(|&id| reactor.poller(id).reads > 50));
    }
}

#[test]
fn no_policy_allocates_while_it_waits() {
    policies::print_lacking();
    for (which, policy) in policies::at_hand().iter().enumerate() {
        for queues in [1, 2] {
            let name = policy.name();
            let mut waits = Waits::of(which, queues, queues);
            let mut counted = 0;
            waits.run(60, |round, group, io| {
                let touched = touched(|| io(group));
                // The first waits find out what there is.
                if round >= 20 {
                    counted += touched;
                }
            });
            let counters = waits.group.counters();
            assert_eq!(counted, 0, "{name} on {queues} queues: {counters:?}");
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
    let memory = queue.info().memory;
    assert!(memory < 1 << 20, "{memory} bytes");
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
