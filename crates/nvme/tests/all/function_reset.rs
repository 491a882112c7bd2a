//! Failures that a reset through CC.EN cannot end: the function is reset.

use crate::common::{Seen, Spy, open_spawned, watched};
use joulio_emulator::Fault;
use joulio_nvme::spec::Status;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Controller, ControllerOptions, Namespace, NvmeError, PollGroup};
use std::time::Duration;

/// Reads `ios` blocks with `policy`; returns how they ended.
fn reads(
    controller: &Controller<Spy>,
    namespace: &Namespace,
    group: &mut PollGroup<Spy>,
    ios: u64,
) -> Vec<Status> {
    let buffers = controller.allocate_buffers(ios as usize, 512).unwrap();
    for (tag, buffer) in (0..).zip(buffers) {
        let queue = &mut group.queues()[0];
        queue.read(namespace, tag, 1, buffer, tag).unwrap();
    }
    group.queues()[0].ring();
    let mut ended = Vec::new();
    let reaped = group.reap(ios as usize, None, |_, done| {
        assert!(done.buffer.is_some(), "a buffer was lost");
        ended.push(done.status);
    });
    assert_eq!(reaped.unwrap(), ios as usize);
    ended
}

#[test]
fn io_goes_on_in_every_completion_mode_after_a_reset_of_the_function() {
    watched(|| {
        let options = ControllerOptions::default();
        let (controller, _) = open_spawned("drop@#9", Seen::impatient(), options);
        let namespace = controller.namespace(1).unwrap();
        let mut groups = [AnyPolicy::POLL, AnyPolicy::INTERRUPT].map(|policy| {
            let mut queue = controller.create_queue_pair(8).unwrap();
            queue.set_policy(policy).unwrap();
            PollGroup::new(vec![queue])
        });
        for group in &mut groups {
            let ended = reads(&controller, &namespace, group, 4);
            assert_eq!(ended, [Status::SUCCESS; 4]);
        }
        // A read in flight when it happens.
        let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
        let queue = &mut groups[1].queues()[0];
        queue.read(&namespace, 0, 1, buffer, 0).unwrap();
        queue.ring();
        let device = controller.device().emulated();
        while device.activity().faults.dropped == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        device.inject(Fault::StuckReset);
        controller.reset().unwrap();
        assert_eq!((controller.resets(), controller.function_resets()), (1, 1));
        let mut lost = Vec::new();
        groups[1]
            .reap(1, None, |_, done| {
                lost.push((done.status, done.buffer.is_some()))
            })
            .unwrap();
        assert_eq!(lost, [(Status::ABORTED_BY_HOST, true)]);
        let before = groups[1].counters();
        for group in &mut groups {
            let ended = reads(&controller, &namespace, group, 4);
            assert_eq!(ended, [Status::SUCCESS; 4]);
        }
        // The interrupts of one queue arrived, and those of the other did not.
        assert_eq!(groups[1].counters().lost_interrupts, before.lost_interrupts);
        assert_eq!(groups[0].counters().interrupts, 0);
        assert_eq!(device.activity().faults.stuck_resets, 1);
    });
}

#[test]
fn a_controller_that_cannot_be_disabled_is_opened_all_the_same() {
    watched(|| {
        let options = ControllerOptions::default();
        let (left, _) = open_spawned("", Seen::impatient(), options.clone());
        let device = left.device().emulated().clone();
        device.inject(Fault::StuckReset);
        // A process that was killed leaves it like this.
        std::mem::forget(left);
        let controller = Controller::open(Spy::of(device, Seen::impatient()), options).unwrap();
        assert_eq!(controller.active_namespaces().unwrap(), [1]);
    });
}

#[test]
fn a_function_that_does_not_notice_either_is_given_up_with_the_first_reason() {
    watched(|| {
        let options = ControllerOptions::default();
        let (controller, _) = open_spawned("", Seen::impatient(), options);
        let device = controller.device().emulated();
        device.inject(Fault::StuckReset);
        device.inject(Fault::StuckFlr);
        match controller.reset() {
            Err(NvmeError::ResetFailed { reason, .. }) => {
                assert!(reason.contains("CAP.TO"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(controller.function_resets(), 0);
    });
}
