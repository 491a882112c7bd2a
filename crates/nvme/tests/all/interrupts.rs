//! Which completions raise an interrupt: only those for which a core blocked.

use joulio_emulator::EmulatedDevice;
use joulio_nvme::wait::{
    AnyPolicy, Class, Outstanding, Policy, SkiRental, Step, StepKind, StepSet, WaitCounters, now,
};
use joulio_nvme::{Controller, ControllerOptions, PollGroup};
use joulio_units::Nanos;
use std::borrow::Cow;
use std::sync::Arc;

/// Blocks for the first of every hundred commands, and spins for the others.
struct BlockOnceInAHundred(u64);

impl Policy for BlockOnceInAHundred {
    fn name(&self) -> Cow<'static, str> {
        "once in a hundred".into()
    }
    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin).with(StepKind::Block)
    }
    fn timed(&self) -> bool {
        true
    }
    fn submitted(&mut self, _: Class, _: Nanos) {
        self.0 += 1;
    }
    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        if self.0 % 100 == 1 {
            Step::BLOCK
        } else {
            Step::SPIN
        }
    }
}

fn open() -> Controller<EmulatedDevice> {
    let device = EmulatedDevice::spawn(&crate::common::instant()).unwrap();
    Controller::open(device, ControllerOptions::default()).unwrap()
}

/// Reads `ios` blocks, one at a time.
fn reads(
    controller: &Controller<EmulatedDevice>,
    group: &mut PollGroup<EmulatedDevice>,
    ios: u64,
) -> WaitCounters {
    let namespace = controller.namespace(1).unwrap();
    let mut buffer = controller.allocate_buffers(1, 512).unwrap().pop();
    for tag in 0..ios {
        let queue = &mut group.queues()[0];
        let taken = buffer.take().unwrap();
        queue.read(&namespace, tag % 64, 1, taken, tag).unwrap();
        queue.ring();
        group.reap(1, None, |_, done| buffer = done.buffer).unwrap();
    }
    group.counters()
}

#[test]
fn ios_found_by_spinning_raise_no_interrupt_after_a_block() {
    let policies = [
        AnyPolicy::Other(Box::new(BlockOnceInAHundred(0))),
        // Spins long enough for some commands, and blocks for others.
        AnyPolicy::SkiRental(SkiRental::new(Nanos::from_micros(20))),
    ];
    for policy in policies {
        let controller = open();
        let mut queue = controller.create_queue_pair(1).unwrap();
        let name = policy.name().into_owned();
        queue.set_policy(policy).unwrap();
        let mut group = PollGroup::new(vec![queue]);
        let counters = reads(&controller, &mut group, 2_000);
        // A completion that the poll between arming and blocking found has raised its interrupt.
        let needless = counters.arms.saturating_sub(counters.blocks);
        assert!(
            counters.interrupts <= counters.blocks + needless + 1,
            "{name}: {counters:?}"
        );
    }
}

#[test]
fn a_blocking_queue_beside_a_polling_one_raises_no_interrupt_while_the_core_spins() {
    let (controller, stepper, _) = crate::common::open();
    let namespace = controller.namespace(1).unwrap();
    let mut buffers = controller.allocate_buffers(2, 512).unwrap();
    let mut blocking = controller.create_queue_pair(1).unwrap();
    blocking.set_policy(AnyPolicy::INTERRUPT).unwrap();
    // Alone, the queue blocks, which unmasks its vector.
    let mut group = PollGroup::new(vec![blocking]);
    let soon = || Some(now() + Nanos::from_millis(1));
    assert_eq!(group.reap(1, soon(), |_, _| {}).unwrap(), 0);
    assert_eq!(group.counters().arms, 1);
    // The other queue has a command in flight, which the device has not begun.
    group.push(controller.create_queue_pair(1).unwrap());
    for index in [1, 0] {
        let buffer = buffers.pop().unwrap();
        let queue = &mut group.queues()[index];
        queue.read(&namespace, 0, 1, buffer, 0).unwrap();
        queue.ring();
        assert_eq!(group.reap(1, soon(), |_, _| {}).unwrap(), 0);
    }
    stepper.step(Nanos::ZERO);
    assert_eq!(group.reap(2, None, |_, _| {}).unwrap(), 2);
    let counters = group.counters();
    assert_eq!((counters.arms, counters.interrupts), (1, 0), "{counters:?}");
}

/// When a kernel moves an interrupt to another CPU, it rewrites the vector's table entry, if interrupts are not
/// remapped.
#[test]
fn a_vector_that_a_kernel_has_rewritten_is_set_again() {
    crate::common::watched(rewrite_and_check);
}

fn rewrite_and_check() {
    let controller = open();
    let namespace = controller.namespace(1).unwrap();
    let queue = controller.create_queue_pair(1).unwrap();
    let mut group = PollGroup::new(vec![queue]);
    let word = Arc::new(controller.allocate(4096).unwrap());
    for redirected in [false, true] {
        if redirected {
            group.redirect(0, &word, 0, 1).unwrap();
        }
        let before = group.faults().vectors_rewritten;
        assert!(controller.device().rewrite_vector(1));
        // The check is made while commands are in flight.
        let mut buffer = controller.allocate_buffers(1, 512).unwrap().pop();
        while group.faults().vectors_rewritten == before {
            let queue = &mut group.queues()[0];
            let taken = buffer.take().unwrap();
            queue.read(&namespace, 0, 1, taken, 0).unwrap();
            queue.ring();
            group.reap(1, None, |_, done| buffer = done.buffer).unwrap();
        }
        assert_eq!(group.faults().vectors_rewritten, before + 1);
        word.memory().store_u32(0, 0);
        let before = group.counters();
        let since = reads(&controller, &mut group, 100) - before;
        assert_eq!(since.interrupts, 0, "redirected: {redirected}: {since:?}");
        assert_eq!(word.memory().load_u32(0), u32::from(redirected));
    }
}
