//! Commands that do not complete in time, and the effects of their Abort.

use crate::common::{Seen, Spy, open_spawned, open_stepped, watched};
use joulio_nvme::spec::Status;
use joulio_nvme::trace::EventKind;
use joulio_nvme::wait::now;
use joulio_nvme::{Controller, ControllerOptions, Faults, PollGroup};
use joulio_units::Nanos;

/// Time limit that is long enough that a thread without a CPU is not mistaken for a stuck command.
const LIMIT: Nanos = Nanos::from_millis(200);

fn options(retries: u8) -> ControllerOptions {
    ControllerOptions {
        io_timeout: LIMIT,
        retries,
        ..ControllerOptions::default()
    }
}

/// Returns a traced queue with one read submitted.
fn one_read(controller: &Controller<Spy>) -> PollGroup<Spy> {
    let namespace = controller.namespace(1).unwrap();
    let mut group = PollGroup::new(vec![controller.create_queue_pair(4).unwrap()]);
    group.start_trace(64);
    let queue = &mut group.queues()[0];
    let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
    queue.read(&namespace, 5, 1, buffer, 77).unwrap();
    queue.ring();
    group
}

/// Returns the read's status, the fault counters, and the events until its end.
fn end(mut group: PollGroup<Spy>) -> (Status, Faults, Vec<&'static str>) {
    let mut ended = Vec::new();
    group
        .reap(1, None, |_, done| {
            assert!(done.tag == 77 && done.buffer.is_some());
            ended.push(done.status);
        })
        .unwrap();
    assert_eq!((ended.len(), group.outstanding()), (1, 0));
    let events = group.take_trace().remove(0).events.into_iter();
    let traced = events.filter_map(|event| match event.kind {
        EventKind::Submit { .. } => Some("submit"),
        EventKind::Complete { .. } => Some("complete"),
        EventKind::Timeout { .. } => Some("timeout"),
        EventKind::Abort { .. } => Some("abort"),
        EventKind::Reset => Some("reset"),
        _ => None,
    });
    (ended[0], group.faults(), traced.collect())
}

#[test]
fn an_abort_that_finds_its_command_ends_it() {
    watched(|| {
        let (controller, _) = open_spawned("drop@#1", Seen::default(), options(0));
        let (status, faults, traced) = end(one_read(&controller));
        assert_eq!(status.kind(), Status::ABORT_REQUESTED);
        assert_eq!(traced, ["submit", "timeout", "abort", "complete"]);
        let timeouts = 1;
        let expected = Faults {
            timeouts,
            ..Faults::default()
        };
        assert_eq!((faults, controller.resets()), (expected, 0));
    });
}

#[test]
fn an_aborted_command_that_may_be_sent_again_is() {
    watched(|| {
        let (controller, _) = open_spawned("drop@#1", Seen::default(), options(1));
        let (status, faults, traced) = end(one_read(&controller));
        assert!(status.is_success(), "{status}");
        let expected = [
            "submit", "timeout", "abort", "complete", "submit", "complete",
        ];
        assert_eq!(traced, expected);
        assert_eq!((faults.timeouts, faults.retries, faults.resets), (1, 1, 0));
    });
}

#[test]
fn an_abort_that_does_not_find_its_command_ends_in_a_reset() {
    watched(|| {
        let (controller, seen) = open_spawned("", Seen::default(), options(0));
        seen.swallow(1);
        let (status, faults, traced) = end(one_read(&controller));
        assert_eq!(status, Status::ABORTED_BY_HOST);
        assert_eq!(traced, ["submit", "timeout", "abort", "reset", "complete"]);
        let expected = Faults {
            timeouts: 1,
            resets: 1,
            ended_by_reset: 1,
            ..Faults::default()
        };
        assert_eq!((faults, controller.resets()), (expected, 1));
    });
}

#[test]
fn a_command_that_a_reset_ended_may_be_sent_again() {
    watched(|| {
        let (controller, seen) = open_spawned("", Seen::default(), options(1));
        seen.swallow(1);
        let (status, faults, _) = end(one_read(&controller));
        assert!(status.is_success(), "{status}");
        let expected = Faults {
            timeouts: 1,
            resets: 1,
            retries: 1,
            ..Faults::default()
        };
        assert_eq!((faults, controller.resets()), (expected, 1));
    });
}

/// Runs a read that its controller fetches only after its Abort. The controller answers the Abort, or refuses it.
fn a_late_read(refuse: bool) {
    let (controller, stepper, seen) = open_stepped(Seen::default(), options(0));
    if refuse {
        seen.refuse(0x08, Status::ABORT_COMMAND_LIMIT);
    }
    let mut group = one_read(&controller);
    while group.faults().timeouts == 0 {
        let soon = now() + LIMIT;
        let delivered = group.reap(1, Some(soon), |_, _| {}).unwrap();
        assert_eq!(delivered, 0);
    }
    stepper.step(Nanos::ZERO);
    let mut ended = None;
    group
        .reap(1, None, |_, done| ended = Some(done.status))
        .unwrap();
    assert_eq!(ended, Some(Status::SUCCESS));
    let timeouts = 1;
    let expected = Faults {
        timeouts,
        ..Faults::default()
    };
    assert_eq!((group.faults(), controller.resets()), (expected, 0));
}

#[test]
fn a_command_that_completes_after_a_vain_abort_has_completed() {
    watched(|| a_late_read(false));
}

#[test]
fn an_abort_that_is_refused_ends_nothing() {
    watched(|| a_late_read(true));
}

#[test]
fn an_abort_that_is_refused_is_followed_by_the_reset() {
    watched(|| {
        let (controller, _stepper, seen) = open_stepped(Seen::default(), options(0));
        seen.refuse(0x08, Status::ABORT_COMMAND_LIMIT);
        let (status, faults, traced) = end(one_read(&controller));
        assert_eq!(status, Status::ABORTED_BY_HOST);
        assert_eq!(traced, ["submit", "timeout", "abort", "reset", "complete"]);
        assert_eq!((faults.timeouts, faults.resets), (1, 1));
    });
}
