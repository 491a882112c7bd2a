//! I/O queues: creating and deleting them, full ones, shared ones.

use crate::common::{Host, PAGE, Pair, enabled, options, slow_options, transfer};
use joulio_device::{Device, DmaMemory, Doorbell};
use joulio_emulator::EmulatedDevice;
use joulio_nvme_spec::register::CC;
use joulio_nvme_spec::{AdminOpcode, Command, CommandId, NvmOpcode, QueueId, Status};

const DELETE_CQ: AdminOpcode = AdminOpcode::DELETE_IO_COMPLETION_QUEUE;
const DELETE_SQ: AdminOpcode = AdminOpcode::DELETE_IO_SUBMISSION_QUEUE;

fn at(mut command: Command, address: u64) -> Command {
    command.prp1.set(address);
    command
}

#[test]
fn queues_that_cannot_be_are_refused_with_the_reason() {
    let mut host = Host::stepped(&options());
    let _first = host.pair(1, 8, None);
    let memory = host.buffer(4096 * 64);
    let ring = memory.iova().0;
    let cq = |qid, entries, vector| Command::create_completion_queue(QueueId(qid), entries, vector);
    let sq =
        |qid, entries, cqid| Command::create_submission_queue(QueueId(qid), entries, QueueId(cqid));
    let scattered = |mut command: Command| {
        command.cdw10[1].set(command.cdw10[1].get() & !1);
        command
    };
    let cases: [(&str, Command, Status); 20] = [
        ("CQ 0", at(cq(0, 8, None), ring), Status::INVALID_QUEUE_ID),
        (
            "CQ twice",
            at(cq(1, 8, None), ring),
            Status::INVALID_QUEUE_ID,
        ),
        ("CQ 65", at(cq(65, 8, None), ring), Status::INVALID_QUEUE_ID),
        (
            "CQ FFFFh",
            at(cq(0xffff, 8, None), ring),
            Status::INVALID_QUEUE_ID,
        ),
        (
            "CQ of 1",
            at(cq(2, 1, None), ring),
            Status::INVALID_QUEUE_SIZE,
        ),
        (
            "CQ of 4097",
            at(cq(2, 4097, None), ring),
            Status::INVALID_QUEUE_SIZE,
        ),
        (
            "CQ vector",
            at(cq(2, 8, Some(65)), ring),
            Status::INVALID_INTERRUPT_VECTOR,
        ),
        (
            "CQ in pieces",
            at(scattered(cq(2, 8, None)), ring),
            Status::INVALID_FIELD,
        ),
        (
            "CQ offset",
            at(cq(2, 8, None), ring + 16),
            Status::PRP_OFFSET_INVALID,
        ),
        (
            "CQ unmapped",
            at(cq(2, 8, None), 1 << 40),
            Status::INVALID_FIELD,
        ),
        ("SQ 0", at(sq(0, 8, 1), ring), Status::INVALID_QUEUE_ID),
        ("SQ twice", at(sq(1, 8, 1), ring), Status::INVALID_QUEUE_ID),
        ("SQ 65", at(sq(65, 8, 1), ring), Status::INVALID_QUEUE_ID),
        ("SQ of 1", at(sq(2, 1, 1), ring), Status::INVALID_QUEUE_SIZE),
        (
            "SQ of 4097",
            at(sq(2, 4097, 1), ring),
            Status::INVALID_QUEUE_SIZE,
        ),
        (
            "SQ to CQ 0",
            at(sq(2, 8, 0), ring),
            Status::INVALID_QUEUE_ID,
        ),
        (
            "SQ to CQ 65",
            at(sq(2, 8, 65), ring),
            Status::INVALID_QUEUE_ID,
        ),
        (
            "SQ to CQ 2",
            at(sq(2, 8, 2), ring),
            Status::INVALID_COMPLETION_QUEUE,
        ),
        (
            "SQ in pieces",
            at(scattered(sq(2, 8, 1)), ring),
            Status::INVALID_FIELD,
        ),
        (
            "SQ half mapped",
            at(sq(2, 4096, 1), ring + 4096),
            Status::INVALID_FIELD,
        ),
    ];
    for (what, command, status) in cases {
        let refused = host.admin(command).status();
        assert_eq!(refused, status.do_not_retry(), "{what}");
    }
    assert_eq!(
        host.admin(at(cq(64, 4096, Some(64)), ring)).status(),
        Status::SUCCESS
    );
    assert_eq!(
        host.admin(at(sq(64, 4096, 64), ring)).status(),
        Status::SUCCESS
    );
}

/// Only I/O queues have entries of these sizes, and a host may set them after CC.EN.
#[test]
fn sizes_of_entries_are_needed_for_io_queues_and_not_before() {
    let (device, stepper) = EmulatedDevice::stepped(&options()).unwrap();
    let mut host = Host::disabled(device, Some(stepper));
    host.enable_as(enabled().with_iosqes(0).with_iocqes(0));
    assert!(host.status().rdy());
    let memory = host.buffer(2 * PAGE);
    let ring = memory.iova().0;
    let cq = Command::create_completion_queue(QueueId(1), 8, None);
    let cq = at(cq, ring);
    let sq = Command::create_submission_queue(QueueId(1), 8, QueueId(1));
    let sq = at(sq, ring + PAGE as u64);
    let refused = Status::INVALID_QUEUE_SIZE.do_not_retry();
    assert_eq!(host.admin(cq).status(), refused);
    let long = enabled().with_iosqes(7);
    host.device.write32(CC, long.into());
    host.must(cq);
    assert_eq!(host.admin(sq).status(), refused);
    host.device.write32(CC, enabled().into());
    host.must(sq);
}

/// Makes Doorbell Buffer Config.
fn shadows(pages: &[DmaMemory; 2]) -> Command {
    let mut command = Command::admin(AdminOpcode::DOORBELL_BUFFER_CONFIG);
    command.prp1.set(pages[0].iova().0);
    command.prp2.set(pages[1].iova().0);
    command
}

#[test]
fn queues_go_on_where_they_are_when_their_shadow_doorbells_move() {
    /// Offset of the tail of queue 1.
    const TAIL: usize = 8;
    let mut options = options();
    options.shadow_doorbells = true;
    let mut host = Host::stepped(&options);
    let [first, second] = [(); 2].map(|()| [host.buffer(PAGE), host.buffer(PAGE)]);
    host.must(shadows(&first));
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    pair.write(1, transfer(NvmOpcode::READ, 0, 1, &buffer));
    first[0].write(TAIL, &1_u32.to_le_bytes());
    assert_eq!(host.step(0).fetched, 1);
    assert_eq!(pair.reap_all(), [CommandId(1)]);
    host.must(shadows(&second));
    assert_eq!(host.step(0).fetched, 0);
    pair.write(2, transfer(NvmOpcode::READ, 0, 1, &buffer));
    second[0].write(TAIL, &2_u32.to_le_bytes());
    assert_eq!(host.step(0).fetched, 1);
    assert_eq!(pair.reap_all(), [CommandId(2)]);
}

#[test]
fn queues_are_deleted_in_order_and_can_be_made_again() {
    let mut host = Host::stepped(&options());
    let delete = |opcode, qid| Command::delete_queue(opcode, QueueId(qid));
    for round in 0..3 {
        let mut pair = host.pair(1, 8, None);
        let buffer = host.buffer(4096);
        pair.submit(round, transfer(NvmOpcode::READ, 0, 1, &buffer));
        host.step(0);
        assert!(pair.reap().is_some());
        for (opcode, qid, status) in [
            (DELETE_SQ, 0, Status::INVALID_QUEUE_ID),
            (DELETE_CQ, 0, Status::INVALID_QUEUE_ID),
            (DELETE_SQ, 2, Status::INVALID_QUEUE_ID),
            (DELETE_CQ, 0xffff, Status::INVALID_QUEUE_ID),
            (DELETE_CQ, 1, Status::INVALID_QUEUE_DELETION),
        ] {
            let refused = host.admin(delete(opcode, qid)).status();
            assert_eq!(refused, status.do_not_retry(), "{opcode:?} {qid}");
        }
        host.must(delete(DELETE_SQ, 1));
        host.must(delete(DELETE_CQ, 1));
    }
    assert_eq!(host.device.activity().invalid_doorbells, 0);
}

#[test]
fn commands_of_a_deleted_queue_are_aborted() {
    let mut host = Host::stepped(&slow_options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(4096);
    for cid in 0..3 {
        pair.submit(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
    }
    host.step(0);
    host.must(Command::delete_queue(DELETE_SQ, QueueId(1)));
    for _ in 0..3 {
        let aborted = pair.reap().unwrap();
        assert_eq!(aborted.status().kind(), Status::ABORTED_SQ_DELETION);
    }
    assert_eq!(host.step(1_000_000).posted, 0);
}

#[test]
fn the_phase_wraps_and_every_completion_is_seen_once() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 4, None);
    let buffer = host.buffer(4096);
    for cid in 0..50 {
        pair.submit(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
        host.step(0);
        let completion = pair.reap().unwrap();
        assert_eq!(completion.cid.get(), cid);
        assert_eq!(completion.sqid.get(), 1);
        assert_eq!(u32::from(completion.sqhd.get()), u32::from(cid + 1) % 4);
        assert!(pair.reap().is_none());
    }
}

#[test]
fn a_full_completion_queue_holds_completions_until_its_head_moves() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 16, None);
    // The completion queue has four entries, and so room for three.
    let mut narrow = Pair::new(&host.device, 2, 4);
    let create = Command::create_completion_queue(QueueId(2), 4, None);
    host.must(at(create, narrow.completion.iova().0));
    let create = Command::create_submission_queue(QueueId(2), 16, QueueId(2));
    host.must(at(create, pair.submission.iova().0));
    let buffer = host.buffer(4096);
    for cid in 0..10 {
        pair.write(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
    }
    narrow.tail.ring(10);
    assert_eq!(host.step(0).posted, 3);
    assert_eq!(host.step(0).posted, 0);
    let mut seen = Vec::new();
    while seen.len() < 10 {
        let completion = narrow.reap().unwrap_or_else(|| {
            host.step(0);
            narrow.reap().unwrap()
        });
        seen.push(completion.cid.get());
    }
    assert_eq!(seen, (0..10).collect::<Vec<u16>>());
}

#[test]
fn several_submission_queues_share_a_completion_queue() {
    let mut host = Host::stepped(&options());
    let mut first = host.pair(1, 16, None);
    let mut second = Pair::new(&host.device, 2, 16);
    let create = Command::create_submission_queue(QueueId(2), 16, QueueId(1));
    host.must(at(create, second.submission.iova().0));
    let buffer = host.buffer(4096);
    first.submit(7, transfer(NvmOpcode::READ, 0, 1, &buffer));
    second.submit(7, transfer(NvmOpcode::READ, 0, 1, &buffer));
    host.step(0);
    let sources: Vec<u16> = std::iter::from_fn(|| first.reap())
        .map(|completion| completion.sqid.get())
        .collect();
    assert_eq!(sources, [1, 2]);
    let delete = |opcode, qid| Command::delete_queue(opcode, QueueId(qid));
    host.must(delete(DELETE_SQ, 1));
    let used = host.admin(delete(DELETE_CQ, 1)).status();
    assert_eq!(used.kind(), Status::INVALID_QUEUE_DELETION);
    host.must(delete(DELETE_SQ, 2));
    host.must(delete(DELETE_CQ, 1));
}

#[test]
fn completions_come_in_the_order_and_at_the_time_of_the_profile() {
    let mut host = Host::stepped(&slow_options());
    let mut pair = host.pair(1, 16, None);
    let buffer = host.buffer(4096);
    for cid in 0..4 {
        pair.submit(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
    }
    // Two at a time, 10 us each.
    assert_eq!(host.step(1_000).next.unwrap().0, 11_000);
    assert_eq!(host.step(10_999).posted, 0);
    assert_eq!(host.step(11_000).posted, 2);
    assert_eq!(host.step(20_999).posted, 0);
    let last = host.step(21_000);
    assert_eq!((last.posted, last.next), (2, None));
    let read = host.device.activity().read;
    assert_eq!((read.ios, read.bytes, read.service.0), (4, 2048, 40_000));
}

#[test]
fn a_host_that_rings_on_without_reaping_does_not_grow_the_controller() {
    let mut host = Host::stepped(&slow_options());
    let mut pair = host.pair(1, 4, None);
    let buffer = host.buffer(4096);
    let mut fetched = 0;
    for cid in 0..1000 {
        pair.submit(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
        fetched += host.step(0).fetched;
    }
    assert_eq!(fetched, 4);
}

#[test]
fn doorbells_exist_for_the_queues_that_can_and_no_others() {
    let (device, _stepper) = EmulatedDevice::stepped(&options()).unwrap();
    assert!(device.doorbell(0x1000 + 8 * 64 + 4).is_ok());
    for offset in [0, 0x14, 0x1001, 0x1000 + 8 * 65, u32::MAX] {
        assert!(device.doorbell(offset).is_err(), "{offset:#x}");
    }
}
