//! The events that a traced queue records.

use joulio_nvme::PollGroup;
use joulio_nvme::trace::{EventKind, FaultKind, Thread, Timeline, WaitKind};
use joulio_nvme::wait::{AnyPolicy, now};
use joulio_units::{Direction, Nanos};

#[test]
fn a_batch_is_its_submissions_one_doorbell_and_its_completions() {
    let (controller, stepper, _) = crate::common::open();
    let namespace = controller.namespace(1).unwrap();
    let mut group = PollGroup::new(vec![controller.create_queue_pair(8).unwrap()]);
    let mut buffers = controller.allocate_buffers(2, 4096).unwrap();
    group.start_trace(16);
    let queue = &mut group.queues()[0];
    queue.write(&namespace, 0, 8, buffers.remove(0), 0).unwrap();
    queue.read(&namespace, 8, 1, buffers.remove(0), 1).unwrap();
    queue.flush(&namespace, 2).unwrap();
    queue.ring();
    queue.ring();
    stepper.step(Nanos::ZERO);
    assert_eq!(queue.reap(8, |_| {}), Ok(3));
    let id = queue.info().id.0;
    let recorded = group.take_trace().remove(0);
    assert!(recorded.events.iter().all(|event| event.queue == id));
    let timeline = Timeline::new(&[Thread {
        name: "test".into(),
        recorded: vec![recorded],
    }]);
    let did: Vec<_> = timeline
        .ios
        .iter()
        .map(|io| io.submitted.map(|s| (s.direction, s.bytes)))
        .collect();
    assert_eq!(
        did,
        [
            Some((Direction::Write, 4096)),
            Some((Direction::Read, 512)),
            Some((Direction::Other, 0)),
        ]
    );
    assert!(timeline.ios.iter().all(|io| io.whole().is_some()));
    let rings: Vec<_> = timeline.cores[0].rings.iter().map(|r| r.commands).collect();
    assert_eq!(rings, [3], "a doorbell that is not rung is no event");
}

#[test]
fn doorbells_count_how_many_commands_also_around_the_ring() {
    let (controller, stepper, _) = crate::common::open();
    let namespace = controller.namespace(1).unwrap();
    let mut group = PollGroup::new(vec![controller.create_queue_pair(4).unwrap()]);
    group.start_trace(256);
    let queue = &mut group.queues()[0];
    for round in 0..20 {
        let commands = round % 4 + 1;
        (0..commands).for_each(|tag| queue.flush(&namespace, tag).unwrap());
        queue.ring();
        stepper.step(Nanos::ZERO);
        queue.reap(8, |_| {}).unwrap();
    }
    let rung = group.take_trace().remove(0).events.into_iter();
    let rung = rung.filter_map(|event| match event.kind {
        EventKind::Doorbell { commands } => Some(commands),
        _ => None,
    });
    assert!(rung.eq((0..20).map(|round| round % 4 + 1)));
}

#[test]
fn a_queue_that_is_not_traced_any_more_records_nothing() {
    let (controller, stepper, _) = crate::common::open();
    let namespace = controller.namespace(1).unwrap();
    let mut group = PollGroup::new(vec![controller.create_queue_pair(8).unwrap()]);
    group.start_trace(16);
    group.take_trace();
    let queue = &mut group.queues()[0];
    queue.flush(&namespace, 0).unwrap();
    queue.ring();
    stepper.step(Nanos::ZERO);
    queue.reap(8, |_| {}).unwrap();
    assert!(group.take_trace().remove(0).events.is_empty());
}

#[test]
fn a_forged_completion_is_a_fault_and_completes_nothing() {
    let (controller, _stepper, seen) = crate::common::open();
    let mut group = PollGroup::new(vec![controller.create_queue_pair(4).unwrap()]);
    let memory = seen.last_memory();
    group.start_trace(16);
    let queue = &mut group.queues()[0];
    memory.write(4096 + 10, &queue.info().id.0.to_le_bytes());
    memory.store_u32(4096 + 12, 0xffff | 1 << 16);
    assert!(queue.reap(8, |_| {}).is_err());
    let kinds: Vec<_> = group
        .take_trace()
        .remove(0)
        .events
        .iter()
        .map(|e| e.kind)
        .collect();
    let fault = FaultKind::Unknown;
    assert_eq!(kinds, [EventKind::Fault { fault, cid: 0xffff }]);
}

#[test]
fn a_wait_is_recorded_as_its_policy_waits() {
    for (policy, kind) in [
        (AnyPolicy::POLL, WaitKind::Spin),
        (AnyPolicy::INTERRUPT, WaitKind::Block),
    ] {
        let (controller, _stepper, _) = crate::common::open();
        let mut queue = controller.create_queue_pair(4).unwrap();
        queue.set_policy(policy).unwrap();
        let mut group = PollGroup::new(vec![queue]);
        group.start_trace(16);
        let deadline = now() + Nanos::from_millis(1);
        assert_eq!(group.reap(1, Some(deadline), |_, _| {}).unwrap(), 0);
        let recorded = group.take_trace();
        let name = "test".into();
        let timeline = Timeline::new(&[Thread { name, recorded }]);
        let waits = &timeline.cores[0].waits;
        assert!(!waits.is_empty());
        for wait in waits {
            assert!(wait.kind == kind && wait.span().is_some() && !wait.interrupted);
            assert_eq!(wait.polls > 0, kind == WaitKind::Spin);
        }
    }
}
