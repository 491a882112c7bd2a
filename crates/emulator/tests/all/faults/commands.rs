//! Faults of a command, one at a time.

use super::{Faulty, both, faulty, good};
use crate::common::{Host, PAGE, bytes, slow_options, transfer};
use joulio_device::Device;
use joulio_emulator::{Fault, Faulted};
use joulio_nvme_spec::{AdminOpcode, Command, CommandId, NvmOpcode, QueueId, Status};
use joulio_units::Nanos;

#[test]
fn a_status_fails_the_command_and_moves_nothing() {
    let mut faulty = Faulty::new("status=2/81/dnr@#2,status@#3");
    faulty.buffer.write(0, &[7; PAGE]);
    assert_eq!(faulty.write(1), [good(1)]);
    faulty.buffer.write(0, &[9; PAGE]);
    let unrecovered = Status::UNRECOVERED_READ.do_not_retry();
    assert_eq!(faulty.read(2), [(CommandId(2), unrecovered)]);
    assert_eq!(bytes(&faulty.buffer, 0, 2), [9; 2]);
    assert_eq!(faulty.write(3), [(CommandId(3), Status::INTERNAL_ERROR)]);
    assert_eq!(faulty.read(4), [good(4)]);
    assert_eq!(bytes(&faulty.buffer, 0, 2), [7; 2]);
    let activity = faulty.host.device.activity();
    assert_eq!((activity.faults.status, activity.failed_commands), (2, 2));
}

#[test]
fn a_dropped_command_is_done_and_completes_when_it_is_aborted() {
    let mut faulty = Faulty::new("drop@#1");
    faulty.buffer.write(0, &[5; PAGE]);
    assert_eq!(faulty.write(1), []);
    assert_eq!(faulty.step(u64::MAX), []);
    faulty.buffer.write(0, &[0; PAGE]);
    assert_eq!(faulty.read(2), [good(2)]);
    assert_eq!(bytes(&faulty.buffer, 0, 2), [5; 2]);

    let abort = |faulty: &mut Faulty, sqid, cid| {
        let command = Command::abort(QueueId(sqid), CommandId(cid));
        faulty.host.must(command).dw0.get()
    };
    for (sqid, cid) in [(1, 3), (2, 1), (9, 1), (0, 1), (u16::MAX, u16::MAX)] {
        assert_eq!(abort(&mut faulty, sqid, cid), 1, "{sqid} {cid}");
    }
    assert_eq!(abort(&mut faulty, 1, 1), 0);
    let aborted = (CommandId(1), Status::ABORT_REQUESTED);
    assert_eq!(faulty.step(0), [aborted]);
    assert_eq!(abort(&mut faulty, 1, 1), 1);
    assert_eq!(faulty.done().dropped, 1);
}

#[test]
fn a_dropped_command_leaves_nothing_to_its_identifier() {
    let mut faulty = Faulty::new("drop@#1");
    assert_eq!(faulty.read(1), []);
    assert_eq!(faulty.read(1), [good(1)]);
    faulty.start_again();
    let abort = Command::abort(QueueId(1), CommandId(1));
    assert_eq!(faulty.host.must(abort).dw0.get(), 1);
    assert_eq!(faulty.step(0), []);
}

#[test]
fn an_abort_takes_the_faults_of_its_command_along() {
    let mut options = slow_options();
    options.faults = "drop@#1".parse().unwrap();
    let mut faulty = Faulty::with(&options);
    assert_eq!(faulty.read(1), []);
    let abort = Command::abort(QueueId(1), CommandId(1));
    assert_eq!(faulty.host.must(abort).dw0.get(), 0);
    let aborted = (CommandId(1), Status::ABORT_REQUESTED);
    assert_eq!(faulty.step(0), [aborted]);
    assert_eq!(faulty.done().dropped, 0);
}

#[test]
fn an_abort_ends_a_command_in_service() {
    let mut faulty = Faulty::with(&slow_options());
    faulty.buffer.write(0, &[5; PAGE]);
    for cid in 1..=3 {
        faulty.submit(NvmOpcode::READ, cid);
    }
    assert_eq!(faulty.step(0), []);
    let abort = Command::abort(QueueId(1), CommandId(2));
    assert_eq!(faulty.host.must(abort).dw0.get(), 0);
    let aborted = (CommandId(2), Status::ABORT_REQUESTED);
    assert_eq!(faulty.step(0), [aborted]);
    assert_eq!(faulty.step(1_000_000), [good(1), good(3)]);
}

#[test]
fn a_request_for_events_can_be_aborted() {
    let mut faulty = Faulty::new("");
    let request = Command::asynchronous_event_request();
    faulty.host.admin.submit(9, request);
    assert!(faulty.host.admin.reap().is_none());
    let abort = Command::abort(QueueId::ADMIN, CommandId(9));
    faulty.host.admin.submit(1, abort);
    let both = [(); 2].map(|()| both(faulty.host.admin.reap().unwrap()));
    assert_eq!(both, [(CommandId(9), Status::ABORT_REQUESTED), good(1)]);
}

#[test]
fn a_deleted_queue_takes_dropped_and_late_commands_with_it() {
    let mut faulty = Faulty::new("drop@#1,late=1s@#2,reorder@#3");
    for cid in 1..=3 {
        assert_eq!(faulty.read(cid), []);
    }
    let delete = Command::delete_queue(AdminOpcode::DELETE_IO_SUBMISSION_QUEUE, QueueId(1));
    faulty.host.must(delete);
    let aborted = |cid| (CommandId(cid), Status::ABORTED_SQ_DELETION);
    assert_eq!(faulty.step(0), [aborted(1), aborted(2), aborted(3)]);
    assert_eq!(faulty.host.step(u64::MAX).next, None);
}

#[test]
fn a_late_completion_is_that_much_later_and_says_when() {
    let mut faulty = Faulty::new("late=50ms@#1");
    assert_eq!(faulty.read(1), []);
    assert_eq!(faulty.read(2), [good(2)]);
    let progress = faulty.host.step(1);
    assert_eq!(progress.next, Some(Nanos::from_millis(50)));
    assert_eq!(faulty.step(49_999_999), []);
    assert_eq!(faulty.step(50_000_000), [good(1)]);
    assert_eq!(faulty.host.step(50_000_000).next, None);
    assert_eq!(faulty.done().late, 1);
}

#[test]
fn a_late_completion_comes_as_aborted_when_it_is() {
    let mut faulty = Faulty::new("late=50ms@#1");
    assert_eq!(faulty.read(1), []);
    let abort = Command::abort(QueueId(1), CommandId(1));
    assert_eq!(faulty.host.must(abort).dw0.get(), 0);
    let aborted = (CommandId(1), Status::ABORT_REQUESTED);
    assert_eq!(faulty.step(0), [aborted]);
    assert_eq!(faulty.step(50_000_000), []);
}

#[test]
fn a_double_completion_is_one_command_and_two_entries() {
    let mut faulty = Faulty::new("double@#1");
    assert_eq!(faulty.read(1), [good(1), good(1)]);
    assert_eq!(faulty.read(2), [good(2)]);
    assert_eq!(faulty.done().doubled, 1);
    assert_eq!(faulty.host.device.activity().read.ios, 2);
}

#[test]
fn a_reordered_completion_comes_after_the_next_one() {
    let mut faulty = Faulty::new("reorder@#1,reorder@#2,reorder@#4");
    assert_eq!(faulty.read(1), []);
    assert_eq!(faulty.read(2), []);
    assert_eq!(faulty.read(3), [good(3), good(1), good(2)]);
    assert_eq!(faulty.done().reordered, 2);
    // Nobody overtakes the last.
    faulty.submit(NvmOpcode::READ, 4);
    let progress = faulty.host.step(0);
    assert_eq!(progress.next, Some(Nanos::from_millis(1)));
    assert_eq!(faulty.step(999_999), []);
    assert_eq!(faulty.step(1_000_000), [good(4)]);
    assert_eq!(faulty.done().reordered, 2);
}

#[test]
fn a_stale_completion_is_the_oldest_of_fifteen() {
    let mut faulty = Faulty::new("stale@#1,stale@#2,stale@#20");
    assert_eq!(faulty.read(1), [good(1)]);
    assert_eq!(faulty.read(2), [good(2), good(1)]);
    for cid in 3..20 {
        assert_eq!(faulty.read(cid), [good(cid)]);
    }
    assert_eq!(faulty.read(20), [good(20), good(5)]);
    assert_eq!(faulty.done().stale, 2);
}

#[test]
fn a_stale_completion_is_not_from_a_queue_that_was_deleted() {
    let mut faulty = Faulty::new("stale@#2");
    assert_eq!(faulty.read(1), [good(1)]);
    for opcode in [
        AdminOpcode::DELETE_IO_SUBMISSION_QUEUE,
        AdminOpcode::DELETE_IO_COMPLETION_QUEUE,
    ] {
        let delete = Command::delete_queue(opcode, QueueId(1));
        faulty.host.must(delete);
    }
    faulty.pair = faulty.host.pair(1, 8, None);
    assert_eq!(faulty.read(2), [good(2)]);
    assert_eq!(faulty.done().stale, 0);
}

#[test]
fn an_unknown_completion_is_none_of_the_commands_that_wait_to_be_fetched() {
    const COMMANDS: u16 = 60_000;
    let mut options = faulty("unknown@#1");
    options.profile.max_queue_entries.value = 65536.0;
    let mut host = Host::stepped(&options);
    let mut pair = host.pair(1, 65536, None);
    let buffer = host.buffer(PAGE);
    for cid in 0..COMMANDS {
        pair.write(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
    }
    pair.ring();
    while host.step(0).fetched > 0 {}
    let mut cids = pair.reap_all();
    assert_eq!(host.device.activity().faults.unknown, 1);
    assert!(cids.remove(1).0 >= COMMANDS);
    assert!(cids.iter().map(|cid| cid.0).eq(0..COMMANDS));
}

#[test]
fn an_unknown_completion_has_an_identifier_that_no_command_has() {
    let mut faulty = Faulty::new("late=1s,unknown");
    for cid in 0..6 {
        faulty.submit(NvmOpcode::READ, cid);
    }
    assert_eq!(faulty.step(0), []);
    // More than fits at a time.
    let mut seen = faulty.step(1_000_000_000);
    seen.extend(faulty.step(1_000_000_000));
    let (known, unknown): (Vec<_>, Vec<_>) = seen.into_iter().partition(|(cid, _)| cid.0 < 6);
    assert_eq!(known, [0, 1, 2, 3, 4, 5].map(good));
    assert_eq!(faulty.done().unknown, unknown.len() as u64);
    assert!(unknown.len() >= 4);
}

#[test]
fn entries_of_no_command_take_no_room_that_is_not_there() {
    let mut faulty = Faulty::new("double@0.5,stale@0.5,unknown@0.5,seed=3");
    for cid in 0..7 {
        faulty.submit(NvmOpcode::READ, cid);
    }
    faulty.host.step(0);
    // Seven entries fit; what did not is posted when there is room, and what is extra is not.
    let mut seen = Vec::new();
    loop {
        let more: Vec<_> = std::iter::from_fn(|| faulty.pair.peek())
            .map(both)
            .collect();
        if more.is_empty() {
            break;
        }
        assert!(more.len() <= 7);
        seen.extend(more);
        faulty.pair.free();
        faulty.host.step(0);
    }
    let done = faulty.done();
    let extra = done.doubled + done.stale + done.unknown;
    assert_eq!(seen.len() as u64, 7 + extra);
    for cid in 0..7 {
        assert!(seen.contains(&good(cid)), "{cid}");
    }
}

#[test]
fn a_lost_interrupt_is_one_that_does_not_come() {
    let mut host = Host::stepped(&faulty("lost-irq@#1,lost-irq@#3"));
    let vectors = host.device.enable_vectors(2).unwrap();
    vectors[1].unmask().unwrap();
    let mut pair = host.pair(1, 8, Some(1));
    let mut polled = host.pair(2, 8, None);
    let buffer = host.buffer(PAGE);
    let mut taken = Vec::new();
    for cid in 1..=2 {
        pair.submit(cid, transfer(NvmOpcode::READ, 0, 8, &buffer));
        host.step(0);
        taken.push(vectors[1].take());
        assert_eq!(pair.reap_all(), [CommandId(cid)]);
    }
    assert_eq!(taken, [0, 1]);
    polled.submit(3, transfer(NvmOpcode::READ, 0, 8, &buffer));
    host.step(0);
    assert_eq!(polled.reap_all(), [CommandId(3)]);
    // A queue without interrupts has none to lose.
    assert_eq!(host.device.activity().faults.lost_irqs, 1);
}

#[test]
fn a_spurious_interrupt_comes_without_a_completion() {
    let mut options = slow_options();
    options.faults = "spurious-irq@#1".parse().unwrap();
    let mut host = Host::stepped(&options);
    let vectors = host.device.enable_vectors(2).unwrap();
    vectors[1].unmask().unwrap();
    let mut pair = host.pair(1, 8, Some(1));
    let buffer = host.buffer(PAGE);
    pair.submit(1, transfer(NvmOpcode::READ, 0, 8, &buffer));
    host.step(0);
    assert_eq!((vectors[1].take(), pair.reap_all()), (1, vec![]));
    host.step(10_000);
    assert_eq!(vectors[1].take(), 1);
    assert_eq!(pair.reap_all(), [CommandId(1)]);
    assert_eq!(host.device.activity().faults.spurious_irqs, 1);
}

#[test]
fn a_flipped_read_succeeds_with_one_wrong_bit() {
    let mut faulty = Faulty::new("flip");
    for (cid, fill) in [(1, 0x00), (2, 0xff), (3, 0x5a)] {
        faulty.buffer.write(0, &[fill; PAGE]);
        assert_eq!(faulty.write(cid), [good(cid)]);
        assert_eq!(bytes(&faulty.buffer, 0, PAGE), [fill; PAGE]);
        assert_eq!(faulty.read(cid), [good(cid)]);
        let read = bytes(&faulty.buffer, 0, PAGE);
        let wrong: u32 = read.iter().map(|byte| (byte ^ fill).count_ones()).sum();
        assert_eq!(wrong, 1);
    }
    assert_eq!(faulty.done().flipped, 3);
}

#[test]
fn an_injected_fault_strikes_the_next_command_once() {
    let mut faulty = Faulty::new("");
    assert_eq!(faulty.read(1), [good(1)]);
    faulty.host.device.inject(Fault::Double);
    let stepper = faulty.host.stepper.as_ref().unwrap();
    stepper.inject(Fault::Status(Status::WRITE_FAULT));
    let failed = (CommandId(2), Status::WRITE_FAULT);
    assert_eq!(faulty.read(2), [failed, failed]);
    assert_eq!(faulty.read(3), [good(3)]);
    let expected = Faulted {
        status: 1,
        doubled: 1,
        ..Faulted::default()
    };
    assert_eq!(faulty.done(), expected);
}

#[test]
fn a_plan_after_an_injected_fault_has_its_times() {
    let mut faulty = Faulty::new("");
    faulty.host.device.inject(Fault::Double);
    assert_eq!(faulty.read(1), [good(1), good(1)]);
    let plan = "cfs@1ms".parse().unwrap();
    faulty.host.device.plan_faults(&plan);
    let progress = faulty.host.step(0);
    assert_eq!(progress.next, Some(Nanos::from_millis(1)));
    assert!(!faulty.host.status().cfs());
    assert_eq!(faulty.step(1_000_000), []);
    assert!(faulty.host.status().cfs());
}

#[test]
fn another_plan_goes_on_counting() {
    let mut faulty = Faulty::new("double@1");
    assert_eq!(faulty.read(1), [good(1), good(1)]);
    assert_eq!(faulty.read(2), [good(2), good(2)]);
    let plan = "status@#1,status@#2,double@#4".parse().unwrap();
    faulty.host.device.plan_faults(&plan);
    assert_eq!(faulty.read(3), [good(3)]);
    assert_eq!(faulty.read(4), [good(4), good(4)]);
    assert_eq!(faulty.read(5), [good(5)]);
}

#[test]
fn a_timed_fault_strikes_the_first_command_after_its_time() {
    let mut faulty = Faulty::new("drop@2ms");
    assert_eq!(faulty.host.step(0).next, Some(Nanos::from_millis(2)));
    assert_eq!(faulty.step(1_999_999), []);
    assert_eq!(faulty.read(1), [good(1)]);
    assert_eq!(faulty.step(2_000_000), []);
    assert_eq!(faulty.read(2), []);
    assert_eq!(faulty.read(3), [good(3)]);
    assert_eq!(faulty.done().dropped, 1);
}
