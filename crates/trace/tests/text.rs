//! The text output, letter by letter.

mod common;

use common::{at, complete, doorbell, hybrid_read, submit, thread, timeline};
use joulio_trace::{EventKind, FaultKind, Timeline, WaitKind, text};

#[test]
fn a_line_an_io_with_a_bar_of_what_the_core_did() {
    let mut events = hybrid_read(1_000, 0x1000);
    events.extend([
        at(20_000, submit(0x1001)),
        at(20_000, doorbell()),
        at(20_000, EventKind::BlockBegin),
        at(24_000, EventKind::BlockEnd { interrupted: true }),
        at(25_000, complete(0x1001)),
    ]);
    let text = text(&timeline(events), 80);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[..7],
        [
            "2 I/Os in 24.0 us; times are in us",
            "job 0: doorbells 2, sleeps 1, blocks 1 (interrupted 1), spins 1 (polls 80)",
            "",
            "# q op   bytes submit bell asleep woken polled complete total  0            10.0",
            "1 1 read  4096    0.0  0.5    4.0  5.0t    5.0     10.0  10.0  .-zzzzzzppppppppp",
            "2 1 read  4096   19.0  0.0    4.0  4.0i    0.0     24.0   5.0  bbbbbbb--",
            "",
        ]
    );
}

#[test]
fn a_plan_says_whether_the_core_polls_or_waits_for_the_cache_line() {
    let lines = |watch: &[EventKind]| {
        let plan = EventKind::Plan {
            rest: None,
            cid: 1,
            rest_ns: 0,
            watch_ns: 68_800,
        };
        let mut events = vec![
            at(0, submit(1)),
            at(0, doorbell()),
            at(0, EventKind::MonitorBegin),
            at(9_000, EventKind::MonitorEnd { polls: 2 }),
            at(9_000, plan),
        ];
        events.extend(watch.iter().map(|kind| at(9_000, *kind)));
        events.push(at(9_000, complete(1)));
        text(&timeline(events), 120)
    };
    let wait = WaitKind::Monitor;
    let monitor = lines(&[EventKind::Watch { wait, cid: 1 }]);
    assert!(monitor.contains(" u68.8 b "), "{monitor}");
    assert!(monitor.contains(", user-level waits 1\n"), "{monitor}");
    assert!(monitor.contains(" uuuu"), "{monitor}");
    let spin = lines(&[]);
    assert!(spin.contains(" p68.8 b "), "{spin}");
}

#[test]
fn an_io_that_is_far_longer_than_the_others_is_cut_off() {
    let events = (0..5).flat_map(|n| {
        let end = if n == 0 { 90_000 } else { 10_000 };
        let start = n * 100_000;
        let cid = n as u16;
        [at(start, submit(cid)), at(start + end, complete(cid))]
    });
    let text = text(&timeline(events.collect()), 100);
    let ends = |length: &str| text.lines().filter(|line| line.ends_with(length)).count();
    assert_eq!(ends("->"), 1);
    assert!(text.contains(" 20.0\n"), "{text}");
    assert_eq!(ends("  10.0  -------------------"), 4, "{text}");
}

#[test]
fn queues_of_several_threads_are_distinguished() {
    let one = || thread(vec![at(0, submit(1)), at(9, complete(1))]);
    let text = text(&Timeline::new(&[one(), one()]), 100);
    assert!(
        text.contains("\n1 0:1 read ") && text.contains("\n2 1:1 read "),
        "{text}"
    );
}

#[test]
fn a_line_is_as_long_as_requested() {
    let events = (0..400).flat_map(|n| hybrid_read(n * 11_000, n as u16));
    let text = text(&timeline(events.collect()), 100);
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert_eq!(longest, Some(100));
}

#[test]
fn what_is_not_whole_says_why() {
    let fault = EventKind::Fault {
        fault: FaultKind::Unknown,
        cid: 0xfff,
    };
    let text = text(
        &timeline(vec![
            at(100, complete(1)),
            at(200, submit(2)),
            at(300, submit(3)),
            at(350, fault),
            at(
                400,
                EventKind::Complete {
                    cid: 3,
                    status: 0x4281,
                },
            ),
            at(500, complete(3)),
        ]),
        100,
    );
    let ends = [
        "no submission recorded",
        "no completion recorded",
        "failed: sct 2h sc 81h",
        " ! at 0.3, queue 1: unknown completion of command 0x0fff, not delivered",
        "completed once more",
    ];
    let lines: Vec<_> = text.lines().skip(5).collect();
    for (line, end) in lines.iter().zip(ends) {
        assert!(line.ends_with(end), "{line}: not {end}");
    }
    assert!(text.contains("3 of them without a submission or a completion"));
}

#[test]
fn a_trace_of_nothing_says_so() {
    assert_eq!(
        text(&timeline(vec![]), 100),
        "0 I/Os in 0.0 us; times are in us\n\
         job 0: doorbells 0, sleeps 0, blocks 0 (interrupted 0), spins 0 (polls 0)\n"
    );
}
