//! A controller that does not come back from a reset: every call reports it, and nothing waits.

use crate::common::{Seen, Spy, open_spawned, open_stepped, watched};
use joulio_emulator::Fault;
use joulio_nvme::spec::Status;
use joulio_nvme::spec::feature::FeatureId;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Controller, ControllerOptions, NvmeError, PollGroup};

fn failed<T>(result: Result<T, NvmeError>) {
    match result {
        Err(NvmeError::ResetFailed { .. }) => {}
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("there is no controller any more"),
    }
}

/// Makes every kind of request; each must fail.
fn every_call_fails(controller: &Controller<Spy>) {
    failed(controller.reset());
    failed(controller.check());
    failed(controller.events());
    failed(controller.smart_log());
    failed(controller.namespace(1));
    failed(controller.active_namespaces());
    failed(controller.create_queue_pair(4));
    failed(controller.feature(FeatureId::NUMBER_OF_QUEUES));
    failed(controller.set_feature(FeatureId::POWER_MANAGEMENT, 0));
    failed(controller.apst());
}

#[test]
fn all_calls_after_a_reset_that_failed_say_so_at_once() {
    watched(|| {
        let options = ControllerOptions::default();
        let (controller, seen) = open_spawned("drop@#1,drop@#2", Seen::impatient(), options);
        let namespace = controller.namespace(1).unwrap();
        let mut queue = controller.create_queue_pair(4).unwrap();
        queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
        let idle = controller.create_queue_pair(4).unwrap();
        let mut buffers = controller.allocate_buffers(3, 512).unwrap();
        for tag in 0..2 {
            let buffer = buffers.remove(0);
            queue.read(&namespace, tag, 1, buffer, tag).unwrap();
        }
        queue.ring();
        let device = controller.device().emulated();
        device.inject(Fault::StuckReset);
        device.inject(Fault::StuckFlr);
        failed(controller.reset());

        // From here on nothing is attempted any more: no reset, no command, no doorbell.
        let rings = seen.rings();
        every_call_fails(&controller);
        let mut group = PollGroup::new(vec![idle, queue]);
        let mut ended = Vec::new();
        failed(group.reap(1, None, |queue, done| {
            assert!(done.buffer.is_none(), "the device may still write there");
            ended.push((queue, done.tag, done.status));
        }));
        let status = Status::ABORTED_BY_HOST;
        assert_eq!(ended, [(1, 0, status), (1, 1, status)]);
        // A further command ends in the same way.
        let buffer = buffers.remove(0);
        group.queues()[0].read(&namespace, 0, 1, buffer, 7).unwrap();
        group.queues()[0].ring();
        let mut ended = 0;
        failed(group.reap(1, None, |_, _| ended += 1));
        assert_eq!((ended, group.outstanding()), (1, 0));
        every_call_fails(&controller);
        drop(group);
        assert_eq!(seen.rings(), rings);
        let faults = controller.device().emulated().activity().faults;
        assert_eq!((faults.stuck_resets, faults.stuck_flrs), (1, 1));
        assert_eq!(controller.resets(), 0);
    });
}

#[test]
fn a_controller_that_does_not_take_its_queues_again_is_used_no_more() {
    const CREATE_IO_COMPLETION_QUEUE: u8 = 0x05;
    let (controller, _stepper, seen) = open_stepped(Seen::default(), ControllerOptions::default());
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(4).unwrap();
    let idle = controller.create_queue_pair(4).unwrap();
    let mut buffers = controller.allocate_buffers(2, 512).unwrap();
    for tag in 0..2 {
        let buffer = buffers.remove(0);
        queue.read(&namespace, tag, 1, buffer, tag).unwrap();
    }
    queue.ring();
    seen.refuse(CREATE_IO_COMPLETION_QUEUE, Status::INVALID_QUEUE_SIZE);
    controller.reset().unwrap();

    let mut group = PollGroup::new(vec![idle, queue]);
    let mut ended = Vec::new();
    let reaped = group.reap(1, None, |queue, done| {
        assert!(done.buffer.is_some(), "a reset controller holds no buffer");
        ended.push((queue, done.tag, done.status));
    });
    let why = reaped.unwrap_err().to_string();
    assert!(
        why.contains(&Status::INVALID_QUEUE_SIZE.to_string()),
        "{why}"
    );
    let status = Status::ABORTED_BY_HOST;
    assert_eq!(ended, [(1, 0, status), (1, 1, status)]);
    every_call_fails(&controller);
}
