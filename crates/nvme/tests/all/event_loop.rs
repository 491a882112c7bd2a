//! Groups for which an event loop waits.

use crate::common::{Seen, instant, open, open_spawned, open_stepped};
use joulio_device::Device;
use joulio_emulator::EmulatedDevice;
use joulio_nvme::spec::Status;
use joulio_nvme::wait::{AnyPolicy, now};
use joulio_nvme::{
    Controller, ControllerOptions, DmaBuffer, EventGroup, NvmeError, PolicyError, PollGroup,
};
use joulio_units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;

const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

fn three_queues() -> ControllerOptions {
    ControllerOptions {
        queues: 3,
        ..ControllerOptions::default()
    }
}

/// Returns true if the descriptor becomes readable within `timeout`.
fn readable(group: &impl AsFd, timeout: Option<&Timespec>) -> bool {
    let mut fds = [PollFd::new(group, PollFlags::IN)];
    poll(&mut fds, timeout).unwrap() == 1
}

/// Arms `group`, which has nothing to reap. A check of its queues that is due also wakes the loop, which may happen
/// on a machine where this thread did not run for long.
fn arm(group: &mut EventGroup<impl Device>) {
    for _ in 0..1000 {
        if group.arm().unwrap() && !readable(group, Some(&AT_ONCE)) {
            return;
        }
        assert_eq!(group.reap(1, |_, _| {}).unwrap(), 0);
    }
    panic!("something wakes the loop again and again");
}

#[test]
fn every_io_ends_when_the_loop_waits_for_the_descriptor_alone() {
    let device = EmulatedDevice::spawn(&instant()).unwrap();
    let controller = Controller::open(device, three_queues()).unwrap();
    let namespace = controller.namespace(1).unwrap();
    let queues = (0..3).map(|_| {
        let mut queue = controller.create_queue_pair(4).unwrap();
        queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
        queue
    });
    let mut group = EventGroup::new(PollGroup::new(queues.collect())).unwrap();
    let mut buffers = controller.allocate_buffers(12, 512).unwrap();
    let (mut sent, mut ended) = (0_u64, vec![false; 3_000]);
    let mut waits = 0;
    // On a busy machine the device may complete everything before the loop polls, so it goes on until it has
    // waited.
    while waits == 0 || ended.iter().any(|ended| !ended) {
        if ended.iter().all(|ended| *ended) {
            ended.resize(ended.len() + 12, false);
        }
        for index in 0..3 {
            let queue = &mut group.group().queues()[index];
            while queue.outstanding() < 4 && sent < ended.len() as u64 {
                let buffer = buffers.pop().unwrap();
                queue.read(&namespace, sent % 64, 1, buffer, sent).unwrap();
                sent += 1;
            }
            queue.ring();
        }
        if group.arm().unwrap() {
            waits += 1;
            assert!(readable(&group, None));
        }
        let reaped = group.reap(2, |_, done| {
            assert!(!std::mem::replace(&mut ended[done.tag as usize], true));
            buffers.extend(done.buffer);
        });
        reaped.unwrap();
    }
    assert_eq!(buffers.len(), 12);
    // With nothing in flight, the remaining interrupts do not keep the loop awake.
    arm(&mut group);
}

#[test]
fn a_completion_before_the_arming_is_to_be_reaped_and_one_after_it_is_readable() {
    let (controller, stepper, _) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    let mut group = EventGroup::new(PollGroup::new(vec![queue])).unwrap();
    let mut buffer = controller.allocate_buffers(1, 512).unwrap().pop();
    let read = |group: &mut EventGroup<_>, buffer: DmaBuffer| {
        let queue = &mut group.group().queues()[0];
        queue.read(&namespace, 0, 1, buffer, 0).unwrap();
        queue.ring();
    };

    read(&mut group, buffer.take().unwrap());
    stepper.step(now());
    assert!(!group.arm().unwrap());
    assert_eq!(group.reap(8, |_, done| buffer = done.buffer).unwrap(), 1);
    arm(&mut group);

    read(&mut group, buffer.take().unwrap());
    arm(&mut group);
    stepper.step(now());
    assert!(readable(&group, Some(&AT_ONCE)));
    // The loop need not read it: it stays readable until the group is armed again.
    assert!(readable(&group, Some(&AT_ONCE)));
    assert_eq!(group.reap(8, |_, done| buffer = done.buffer).unwrap(), 1);
    arm(&mut group);
}

#[test]
fn no_more_are_reaped_than_wanted_and_no_queue_is_passed_over() {
    let (controller, stepper, _) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut buffers = controller.allocate_buffers(8, 512).unwrap();
    let queues = (0..2).map(|_| {
        let mut queue = controller.create_queue_pair(4).unwrap();
        queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
        for (tag, buffer) in (0..4).zip(buffers.drain(..4)) {
            queue.read(&namespace, 0, 1, buffer, tag).unwrap();
        }
        queue.ring();
        queue
    });
    let mut group = EventGroup::new(PollGroup::new(queues.collect())).unwrap();
    stepper.step(now());
    assert!(!group.arm().unwrap());
    let mut reap = |max| {
        let mut found = Vec::new();
        let reaped = group.reap(max, |index, done| found.push((index, done.tag)));
        assert_eq!(reaped.unwrap(), found.len());
        found
    };
    assert_eq!(reap(2), [(0, 0), (0, 1)]);
    assert_eq!(reap(1), [(1, 0)]);
    assert_eq!(reap(9), [(0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]);
    assert_eq!(reap(9), []);
}

#[test]
fn a_command_that_the_device_forgets_wakes_the_loop_until_it_has_ended() {
    let options = ControllerOptions {
        io_timeout: Nanos::from_millis(20),
        ..ControllerOptions::default()
    };
    let (controller, seen) = open_spawned("", Seen::default(), options);
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    seen.swallow(1);
    let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
    queue.read(&namespace, 0, 1, buffer, 5).unwrap();
    queue.ring();
    let mut group = EventGroup::new(PollGroup::new(vec![queue])).unwrap();
    let mut status = None;
    while status.is_none() {
        if group.arm().unwrap() {
            // Only the group's own checks can end this.
            assert!(readable(&group, None));
        }
        // When a command is aborted or ended by a reset, there may also be an error.
        let _ = group.reap(8, |_, done| status = Some((done.tag, done.status)));
    }
    let (tag, status) = status.unwrap();
    assert_eq!(tag, 5);
    assert!(!status.is_success());
}

#[test]
fn what_a_reset_ended_is_handed_out_by_the_next_reap() {
    let (controller, seen) = open_spawned("", Seen::default(), ControllerOptions::default());
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    seen.swallow(1);
    let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
    queue.read(&namespace, 0, 1, buffer, 5).unwrap();
    queue.ring();
    let mut group = EventGroup::new(PollGroup::new(vec![queue])).unwrap();
    // The next of its own checks is then some time away.
    arm(&mut group);
    controller.reset().unwrap();
    assert!(!group.arm().unwrap());
    let mut status = None;
    let reaped = group.reap(8, |_, done| status = Some(done.status));
    assert_eq!(
        (reaped.unwrap(), status),
        (1, Some(Status::ABORTED_BY_HOST))
    );
}

#[test]
fn a_group_that_reaps_by_itself_checks_its_queues_where_the_loop_was_woken_for_that() {
    let (controller, _stepper, _) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
    queue.read(&namespace, 0, 1, buffer, 5).unwrap();
    queue.ring();
    let mut group = EventGroup::new(PollGroup::new(vec![queue])).unwrap();
    arm(&mut group);
    assert!(readable(&group, None));
    let mut vain = 0;
    while !group.arm().unwrap() {
        assert_eq!(group.group().reap(0, None, |_, _| {}).unwrap(), 0);
        vain += 1;
    }
    // A few, if this thread did not run for as long as between two checks.
    assert!((1..100).contains(&vain), "{vain}");
}

#[test]
fn queues_join_and_leave_and_a_polling_one_is_refused() {
    let (controller, stepper, _) = open_stepped(Seen::default(), three_queues());
    let namespace = controller.namespace(1).unwrap();
    let mut buffers = controller.allocate_buffers(2, 512).unwrap();
    let pair = |policy| {
        let mut queue = controller.create_queue_pair(1).unwrap();
        queue.set_policy(policy).unwrap();
        queue
    };
    let queues = vec![pair(AnyPolicy::INTERRUPT), pair(AnyPolicy::POLL)];
    let mut group = EventGroup::new(PollGroup::new(queues)).unwrap();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&group.as_fd());
    for index in [1, 0] {
        let queue = &mut group.group().queues()[index];
        let buffer = buffers.pop().unwrap();
        queue.read(&namespace, 0, 1, buffer, index as u64).unwrap();
        queue.ring();
    }
    match group.arm() {
        Err(NvmeError::Policy(PolicyError::NeverBlocks { policy, .. })) => {
            assert_eq!(policy, "poll")
        }
        other => panic!("{other:?}"),
    }
    // The queue is removed with its command, which completes elsewhere.
    let mut polling = group.group().remove(1).unwrap();
    assert_eq!(polling.outstanding(), 1);
    arm(&mut group);
    stepper.step(now());
    assert!(readable(&group, Some(&AT_ONCE)));
    assert_eq!(
        group
            .reap(8, |index, done| assert_eq!((index, done.tag), (0, 0)))
            .unwrap(),
        1
    );
    assert_eq!(polling.reap(8, |done| assert_eq!(done.tag, 1)).unwrap(), 1);
    // Another queue joins, and the descriptor is still the same.
    group.group().push(pair(AnyPolicy::INTERRUPT));
    let queue = &mut group.group().queues()[1];
    let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
    queue.read(&namespace, 0, 1, buffer, 7).unwrap();
    queue.ring();
    arm(&mut group);
    stepper.step(now());
    assert!(readable(&group, Some(&AT_ONCE)));
    assert_eq!(std::os::fd::AsRawFd::as_raw_fd(&group.as_fd()), descriptor);
    assert_eq!(
        group
            .reap(8, |index, done| assert_eq!((index, done.tag), (1, 7)))
            .unwrap(),
        1
    );
    // The group waits by itself again.
    let mut group = group.into_group();
    let soon = Some(now() + Nanos::from_millis(1));
    assert_eq!(group.reap(1, soon, |_, _| {}).unwrap(), 0);
}

#[test]
fn a_group_that_waits_by_itself_between_wakes_the_loop_all_the_same() {
    let (controller, stepper, _) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    let soon = || Some(now() + Nanos::from_millis(1));
    let mut group = PollGroup::new(vec![queue]);
    // The group handles its queue before there is a loop ...
    assert_eq!(group.reap(1, soon(), |_, _| {}).unwrap(), 0);
    let mut group = EventGroup::new(group).unwrap();
    for policy in [None, Some(AnyPolicy::POLL), Some(AnyPolicy::INTERRUPT)] {
        let polls = matches!(policy, Some(AnyPolicy::Poll(_)));
        if let Some(policy) = policy {
            // ... and gets another policy while the loop does not wait.
            group.group().queues()[0].set_policy(policy).unwrap();
            assert_eq!(group.group().reap(1, soon(), |_, _| {}).unwrap(), 0);
        }
        if polls {
            continue;
        }
        let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
        let queue = &mut group.group().queues()[0];
        queue.read(&namespace, 0, 1, buffer, 0).unwrap();
        queue.ring();
        arm(&mut group);
        stepper.step(now());
        assert!(readable(&group, Some(&AT_ONCE)));
        assert_eq!(group.reap(1, |_, _| {}).unwrap(), 1);
    }
}

#[test]
fn queues_and_groups_move_between_threads() {
    fn moves<T: Send>() {}
    moves::<joulio_nvme::QueuePair<EmulatedDevice>>();
    moves::<Controller<EmulatedDevice>>();
    moves::<DmaBuffer>();
    let (controller, stepper, _) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
    queue.read(&namespace, 0, 1, buffer, 3).unwrap();
    queue.ring();
    stepper.step(now());
    let ended = std::thread::spawn(move || {
        let mut tag = 0;
        assert_eq!(queue.reap(1, |done| tag = done.tag), Ok(1));
        tag
    });
    assert_eq!(ended.join().unwrap(), 3);
}
