//! Events that belong together are matched, and those whose counterpart is lost are not hidden.

mod common;

use common::{at, complete, doorbell, hybrid_read, submit, thread, timeline};
use joulio_trace::{EventKind, FaultKind, Recorded, Thread, Timeline, WaitKind, WokenBy};
use joulio_units::Nanos;

#[test]
fn an_io_knows_what_its_core_did_meanwhile() {
    let timeline = timeline(hybrid_read(1_000, 0x1000));
    let [io] = timeline.ios[..] else {
        panic!("one I/O");
    };
    assert_eq!(io.total(), Some(Nanos(10_000)));
    assert_eq!(io.doorbell, Some(Nanos(1_500)));
    assert_eq!(io.meanwhile.slept, Nanos(4_000));
    assert_eq!(io.meanwhile.polled, Nanos(5_000));
    assert_eq!(io.meanwhile.polls, 80);
    let wake = io.meanwhile.wake.expect("woken");
    assert_eq!((wake.at, wake.by), (Nanos(6_000), WokenBy::Timer));
}

#[test]
fn an_interrupt_wakes_and_a_deadline_does_not() {
    let block = |interrupted| {
        let events = vec![
            at(0, submit(1)),
            at(10, EventKind::BlockBegin),
            at(90, EventKind::BlockEnd { interrupted }),
            at(100, complete(1)),
        ];
        let meanwhile = timeline(events).ios[0].meanwhile;
        (meanwhile.blocked, meanwhile.wake.expect("woken").by)
    };
    assert_eq!(block(true), (Nanos(80), WokenBy::Interrupt));
    assert_eq!(block(false), (Nanos(80), WokenBy::Timer));
}

#[test]
fn one_doorbell_stands_for_all_commands_before_it() {
    let timeline = timeline(vec![
        at(0, submit(1)),
        at(10, submit(2)),
        at(20, EventKind::Doorbell { commands: 2 }),
        at(30, submit(3)),
        at(40, complete(1)),
        at(50, doorbell()),
    ]);
    let bells: Vec<_> = timeline.ios.iter().map(|io| io.doorbell).collect();
    assert_eq!(bells, [Some(Nanos(20)), Some(Nanos(20)), Some(Nanos(50))]);
}

#[test]
fn a_completion_whose_submission_was_overwritten_stands_alone() {
    let timeline = timeline(vec![at(5, complete(9))]);
    let io = timeline.ios[0];
    assert!(io.submitted.is_none() && !io.doubled);
    assert_eq!(io.completed.map(|c| c.at), Some(Nanos(5)));
}

#[test]
fn a_second_completion_is_doubled_and_the_first_one_counts() {
    let timeline = timeline(vec![
        at(0, submit(1)),
        at(10, complete(1)),
        at(20, complete(1)),
    ]);
    assert_eq!(timeline.ios[0].total(), Some(Nanos(10)));
    assert!(!timeline.ios[0].doubled && timeline.ios[1].doubled);
    assert_eq!(timeline.ios.len(), 2);
}

#[test]
fn an_identifier_used_again_does_not_complete_the_io_before() {
    let timeline = timeline(vec![
        at(0, submit(1)),
        at(10, submit(1)),
        at(20, complete(1)),
    ]);
    let totals: Vec<_> = timeline.ios.iter().map(|io| io.total()).collect();
    assert_eq!(totals, [None, Some(Nanos(10))]);
}

#[test]
fn queues_of_the_same_number_are_distinguished_by_their_recorders() {
    // Two controllers that both have a queue 1, with one core that waits for both.
    let one = |offset| Recorded {
        events: vec![at(offset, submit(1)), at(100 + offset * 3, complete(1))],
        overwritten: 0,
    };
    let timeline = Timeline::new(&[Thread {
        name: "both".into(),
        recorded: vec![one(0), one(10)],
    }]);
    let totals: Vec<_> = timeline.ios.iter().map(|io| io.total()).collect();
    assert_eq!(totals, [Some(Nanos(100)), Some(Nanos(120))]);
}

#[test]
fn what_one_queue_has_lost_the_others_do_not_show_in_part() {
    let spin = |from: u64, to: u64| {
        let end = EventKind::SpinEnd { polls: 9 };
        [at(from, EventKind::SpinBegin), at(to, end)]
    };
    // The core's waits are on the first queue, whose oldest event is overwritten.
    let first = Recorded {
        events: spin(110, 190).to_vec(),
        overwritten: 2,
    };
    let second = Recorded {
        events: vec![
            at(0, submit(1)),
            at(90, complete(1)),
            at(120, submit(2)),
            at(180, complete(2)),
        ],
        overwritten: 0,
    };
    for recorded in [[first.clone(), second.clone()], [second, first]] {
        let timeline = Timeline::new(&[Thread {
            name: "both".into(),
            recorded: recorded.to_vec(),
        }]);
        let [io] = timeline.ios[..] else {
            panic!("the first I/O is shown without its wait: {timeline:?}");
        };
        assert_eq!((io.cid, io.meanwhile.polled), (2, Nanos(60)));
        assert_eq!((timeline.overwritten(), timeline.cores[0].events), (4, 4));
        assert_eq!((timeline.start, timeline.end), (Nanos(110), Nanos(190)));
    }
}

#[test]
fn a_wait_of_one_queue_is_seen_by_the_ios_of_all_queues_of_its_core() {
    let wait = Recorded {
        events: vec![at(10, EventKind::SleepBegin), at(60, EventKind::SleepEnd)],
        overwritten: 0,
    };
    let io = Recorded {
        events: vec![at(0, submit(1)), at(100, complete(1))],
        overwritten: 0,
    };
    let together = Thread {
        name: "a".into(),
        recorded: vec![wait.clone(), io.clone()],
    };
    let slept = |threads: &[Thread]| Timeline::new(threads).ios[0].meanwhile.slept;
    assert_eq!(slept(&[together]), Nanos(50));
    assert_eq!(slept(&[thread(wait.events), thread(io.events)]), Nanos(0));
}

#[test]
fn a_wait_with_a_half_missing_is_kept_and_counts_nowhere() {
    let timeline = timeline(vec![
        at(0, EventKind::BlockEnd { interrupted: true }),
        at(1, submit(1)),
        at(2, EventKind::SleepBegin),
        at(3, EventKind::SpinBegin),
        at(9, EventKind::SpinEnd { polls: 3 }),
        at(10, complete(1)),
    ]);
    let waits: Vec<_> = timeline.cores[0]
        .waits
        .iter()
        .map(|w| (w.kind, w.begin.map(|t| t.0), w.end.map(|t| t.0)))
        .collect();
    assert_eq!(
        waits,
        [
            (WaitKind::Block, None, Some(0)),
            (WaitKind::Sleep, Some(2), None),
            (WaitKind::Spin, Some(3), Some(9)),
        ]
    );
    let meanwhile = timeline.ios[0].meanwhile;
    assert_eq!((meanwhile.slept, meanwhile.polled), (Nanos(0), Nanos(6)));
    assert!(meanwhile.wake.is_none());
}

#[test]
fn what_went_wrong_is_marked_in_its_place() {
    let fault = EventKind::Fault {
        fault: FaultKind::Stale,
        cid: 3,
    };
    let timeline = timeline(vec![at(7, fault), at(9, EventKind::Reset)]);
    let marks: Vec<_> = timeline.marks.iter().map(|m| (m.at.0, m.kind)).collect();
    assert_eq!(marks, [(7, fault), (9, EventKind::Reset)]);
    assert!(timeline.ios.is_empty());
}
