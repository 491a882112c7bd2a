//! Asynchronous events, which the controller reports unrequested.

use crate::common::{Spy, open};
use joulio_device::{Device, Doorbell};
use joulio_emulator::{Fault, Stepper};
use joulio_nvme::Controller;
use joulio_nvme::spec::log::LogId;
use joulio_nvme::spec::register::submission_doorbell;
use joulio_nvme::spec::{AsyncEvent, AsyncEventType, Status};
use joulio_units::Nanos;

const BAD_VALUE: AsyncEvent = AsyncEvent::of(AsyncEventType::Error, 1, LogId::ERROR_INFORMATION);
const NAMESPACE_CHANGED: AsyncEvent =
    AsyncEvent::of(AsyncEventType::Notice, 0, LogId::CHANGED_NAMESPACES);

/// Rings the doorbell of queue 1 with an invalid tail, a different one each time.
fn ring_badly(controller: &Controller<Spy>, stepper: &Stepper, value: u32) {
    let doorbell = controller.device().doorbell(submission_doorbell(1, 0));
    doorbell.unwrap().ring(0xff00 + value);
    stepper.step(Nanos::ZERO);
}

#[test]
fn a_bad_doorbell_is_an_error_event() {
    let (controller, stepper, _) = open();
    let _queue = controller.create_queue_pair(4).unwrap();
    assert_eq!(controller.events().unwrap(), []);
    ring_badly(&controller, &stepper, 0);
    assert_eq!(controller.events().unwrap(), [BAD_VALUE]);
    assert_eq!(controller.events().unwrap(), []);
    let logged = controller.smart_log().unwrap().error_log_entries;
    assert_eq!(logged.get(), 1);
}

#[test]
fn events_of_a_kind_are_masked_until_its_log_is_read() {
    let (controller, stepper, _) = open();
    let _queue = controller.create_queue_pair(4).unwrap();
    for value in 0..5 {
        ring_badly(&controller, &stepper, value);
    }
    // All events were counted, and one was reported.
    let activity = controller.device().emulated().activity();
    assert_eq!(activity.invalid_doorbells, 5);
    assert_eq!(controller.events().unwrap(), [BAD_VALUE]);
    assert_eq!(controller.events().unwrap(), []);
    // Taking the event read the log, so that the next one is reported again.
    ring_badly(&controller, &stepper, 5);
    assert_eq!(controller.events().unwrap(), [BAD_VALUE]);
}

#[test]
fn a_namespace_that_vanishes_is_a_notice() {
    let (controller, stepper, _) = open();
    controller
        .device()
        .emulated()
        .inject(Fault::NamespaceRemoved(1));
    stepper.step(Nanos::ZERO);
    assert_eq!(controller.events().unwrap(), [NAMESPACE_CHANGED]);
    assert_eq!(controller.active_namespaces().unwrap(), [0; 0]);
}

#[test]
fn events_of_two_kinds_come_both_and_in_order() {
    let (controller, stepper, _) = open();
    let _queue = controller.create_queue_pair(4).unwrap();
    ring_badly(&controller, &stepper, 0);
    controller
        .device()
        .emulated()
        .inject(Fault::NamespaceRemoved(1));
    stepper.step(Nanos::ZERO);
    assert_eq!(controller.events().unwrap(), [BAD_VALUE, NAMESPACE_CHANGED]);
}

#[test]
fn more_events_come_than_there_are_requests() {
    let (controller, stepper, _) = open();
    let _queue = controller.create_queue_pair(4).unwrap();
    let requests = controller.identity().event_request_limit();
    for value in 0..3 * requests {
        ring_badly(&controller, &stepper, value);
        assert_eq!(controller.events().unwrap(), [BAD_VALUE], "event {value}");
    }
}

#[test]
fn events_are_requested_again_after_a_reset() {
    let (controller, stepper, _) = open();
    let mut queue = controller.create_queue_pair(4).unwrap();
    ring_badly(&controller, &stepper, 0);
    assert_eq!(controller.events().unwrap(), [BAD_VALUE]);
    controller.reset().unwrap();
    // The queue is created on the controller again when it is used.
    let namespace = controller.namespace(1).unwrap();
    queue.flush(&namespace, 0).unwrap();
    let mut group = joulio_nvme::PollGroup::new(vec![queue]);
    let soon = joulio_nvme::wait::now() + Nanos::from_millis(1);
    group.reap(1, Some(soon), |_, _| {}).unwrap();
    stepper.step(Nanos::ZERO);
    assert_eq!(group.reap(1, None, |_, _| {}).unwrap(), 1);
    ring_badly(&controller, &stepper, 1);
    assert_eq!(controller.events().unwrap(), [BAD_VALUE]);
}

#[test]
fn an_event_whose_page_could_not_be_read_comes_at_the_next_call() {
    const GET_LOG_PAGE: u8 = 0x02;
    let (controller, stepper, seen) = open();
    let _queue = controller.create_queue_pair(4).unwrap();
    let page = LogId::ERROR_INFORMATION.0;
    seen.refuse_one(GET_LOG_PAGE, page, Status::INTERNAL_ERROR);
    ring_badly(&controller, &stepper, 0);
    assert!(controller.events().is_err());
    seen.refuse_nothing();
    assert_eq!(controller.events().unwrap(), [BAD_VALUE]);
    assert_eq!(controller.events().unwrap(), []);
}
