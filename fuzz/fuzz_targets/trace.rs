//! Events that no driver would record. A timeline loses none of them from the time on from which no queue of a core has
//! lost any, no two waits of a core overlap, and its printed form is complete.
#![no_main]

use arbitrary::Arbitrary;
use joulio_trace::{Event, EventKind, FaultKind, Recorded, Thread, Timeline, json, perfetto, text};
use joulio_units::{Direction, Nanos};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use std::collections::HashMap;

/// Limit in microseconds up to which traces in microseconds are exact to the nanosecond (see `perfetto`).
const EXACT: u64 = 1 << 51;

#[derive(Arbitrary, Debug)]
struct Input {
    width: u16,
    threads: Vec<AnyThread>,
}

#[derive(Arbitrary, Debug)]
struct AnyThread {
    name: String,
    queues: Vec<Queue>,
}

#[derive(Arbitrary, Debug)]
struct Queue {
    overwritten: u32,
    events: Vec<AnyEvent>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct AnyEvent {
    at: At,
    queue: u8,
    kind: AnyKind,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum At {
    /// At so long after the event before.
    After(u16),
    Any(u64),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum AnyKind {
    Submit(u8, u8, u32),
    Doorbell(u32),
    Complete(u8, u16),
    SleepBegin,
    SleepEnd,
    BlockBegin,
    BlockEnd(bool),
    SpinBegin,
    SpinEnd(u32),
    Timeout(u16),
    Abort(u16),
    Reset,
    LostInterrupt,
    Fault(u8, u16),
}

impl From<AnyKind> for EventKind {
    fn from(kind: AnyKind) -> EventKind {
        match kind {
            AnyKind::Submit(direction, cid, bytes) => EventKind::Submit {
                direction: [Direction::Read, Direction::Write, Direction::Other]
                    [usize::from(direction % 3)],
                cid: cid.into(),
                bytes,
            },
            AnyKind::Doorbell(commands) => EventKind::Doorbell { commands },
            AnyKind::Complete(cid, status) => EventKind::Complete {
                cid: cid.into(),
                status,
            },
            AnyKind::SleepBegin => EventKind::SleepBegin,
            AnyKind::SleepEnd => EventKind::SleepEnd,
            AnyKind::BlockBegin => EventKind::BlockBegin,
            AnyKind::BlockEnd(interrupted) => EventKind::BlockEnd { interrupted },
            AnyKind::SpinBegin => EventKind::SpinBegin,
            AnyKind::SpinEnd(polls) => EventKind::SpinEnd { polls },
            AnyKind::Timeout(cid) => EventKind::Timeout { cid },
            AnyKind::Abort(cid) => EventKind::Abort { cid },
            AnyKind::Reset => EventKind::Reset,
            AnyKind::LostInterrupt => EventKind::LostInterrupt,
            AnyKind::Fault(fault, cid) => EventKind::Fault {
                fault: [FaultKind::Stale, FaultKind::Doubled, FaultKind::Unknown]
                    [usize::from(fault % 3)],
                cid,
            },
        }
    }
}

impl Queue {
    fn recorded(&self) -> Recorded {
        let mut now = 0u64;
        let event = |event: &AnyEvent| {
            now = match event.at {
                At::After(time) => now.saturating_add(time.into()),
                At::Any(at) => at,
            };
            Event {
                at: Nanos(now),
                queue: (event.queue % 4).into(),
                kind: event.kind.into(),
            }
        };
        Recorded {
            events: self.events.iter().map(event).collect(),
            overwritten: self.overwritten.into(),
        }
    }
}

/// Returns the events of a thread from the time on at which each queue that has lost some begins.
fn whole(thread: &Thread) -> Vec<Event> {
    let mut begin = Nanos::ZERO;
    for recorded in &thread.recorded {
        if let (1.., Some(first)) = (recorded.overwritten, recorded.events.first()) {
            begin = begin.max(first.at);
        }
    }
    let recorded = thread.recorded.iter().flat_map(|it| &it.events);
    recorded.filter(|it| it.at >= begin).copied().collect()
}

/// Checks that every submission and completion is of one I/O, and every other event is somewhere.
fn check_events(threads: &[Thread], timeline: &Timeline) {
    for (thread, core) in threads.iter().zip(&timeline.cores) {
        assert_eq!(core.events, whole(thread).len() as u64);
        let recorded = thread.recorded.iter();
        let all: u64 = recorded
            .map(|it| it.events.len() as u64 + it.overwritten)
            .sum();
        assert_eq!(core.events + core.overwritten, all);
    }
    let events: Vec<Event> = threads.iter().flat_map(whole).collect();
    let count = |is: fn(EventKind) -> bool| events.iter().filter(|it| is(it.kind)).count();
    let ios = &timeline.ios;
    assert_eq!(
        ios.iter().filter(|io| io.submitted.is_some()).count(),
        count(|kind| matches!(kind, EventKind::Submit { .. }))
    );
    assert_eq!(
        ios.iter().filter(|io| io.completed.is_some()).count(),
        count(|kind| matches!(kind, EventKind::Complete { .. }))
    );
    let rings: usize = timeline.cores.iter().map(|core| core.rings.len()).sum();
    assert_eq!(
        rings,
        count(|kind| matches!(kind, EventKind::Doorbell { .. }))
    );
    let waits = timeline.cores.iter().flat_map(|core| &core.waits);
    let halves = waits.map(|it| usize::from(it.begin.is_some()) + usize::from(it.end.is_some()));
    let rest = events.len()
        - count(|kind| matches!(kind, EventKind::Submit { .. }))
        - count(|kind| matches!(kind, EventKind::Complete { .. }))
        - rings;
    assert_eq!(halves.sum::<usize>() + timeline.marks.len(), rest);
}

fn check_waits(timeline: &Timeline) {
    for core in &timeline.cores {
        let mut last = Nanos::ZERO;
        for (begin, end) in core.waits.iter().filter_map(|wait| wait.span()) {
            assert!(last <= begin && begin <= end);
            last = end;
        }
    }
    for io in &timeline.ios {
        let meanwhile = &io.meanwhile;
        let time = meanwhile.slept + meanwhile.blocked + meanwhile.polled;
        assert!(time <= io.total().unwrap_or_default());
    }
}

/// Checks that there is at least a line for each I/O and mark, and no control sequence that moves a terminal's cursor.
fn check_text(timeline: &Timeline, width: usize) {
    let text = text(timeline, width);
    assert!(text.lines().count() >= timeline.ios.len() + timeline.marks.len());
}

fn check_json(timeline: &Timeline) {
    let mut bytes = Vec::new();
    json(timeline, &mut bytes).expect("memory takes it");
    let value: Value = serde_json::from_slice(&bytes).expect("it is JSON");
    let len = |key: &str| value[key].as_array().map(Vec::len);
    assert_eq!(len("ios"), Some(timeline.ios.len()));
    assert_eq!(len("marks"), Some(timeline.marks.len()));
    assert_eq!(len("threads"), Some(timeline.cores.len()));
}

/// Checks that slices of one track do not overlap: Perfetto drops those that do.
fn check_perfetto(timeline: &Timeline) {
    let mut bytes = Vec::new();
    perfetto(timeline, &mut bytes).expect("memory takes it");
    let value: Value = serde_json::from_slice(&bytes).expect("it is JSON");
    let entries = value["traceEvents"].as_array().expect("entries");
    let exact = timeline.since_start(timeline.end).0 < EXACT;
    let nanos = |entry: &Value, key: &str| (entry[key].as_f64().unwrap_or(0.0) * 1e3).round();
    let mut lanes: HashMap<String, bool> = HashMap::new();
    let mut ends: HashMap<u64, f64> = HashMap::new();
    for entry in entries {
        match entry["ph"].as_str().expect("a phase") {
            phase @ ("b" | "e") => {
                let lane = format!("{}{}{}", entry["pid"], entry["name"], entry["id"]);
                let open = lanes.entry(lane).or_default();
                assert_eq!(*open, phase == "e");
                *open = phase == "b";
            }
            "X" if exact => {
                let end = ends
                    .entry(entry["tid"].as_u64().expect("a thread"))
                    .or_default();
                let begin = nanos(entry, "ts");
                assert!(*end <= begin, "{end} {begin}");
                *end = begin + nanos(entry, "dur");
            }
            _ => {}
        }
    }
    assert!(lanes.values().all(|open| !open));
}

fuzz_target!(|input: Input| {
    let threads: Vec<Thread> = input
        .threads
        .iter()
        .map(|thread| Thread {
            name: thread.name.clone(),
            recorded: thread.queues.iter().map(Queue::recorded).collect(),
        })
        .collect();
    let timeline = Timeline::new(&threads);
    check_events(&threads, &timeline);
    check_waits(&timeline);
    check_text(&timeline, input.width.into());
    check_json(&timeline);
    check_perfetto(&timeline);
});
