//! Whatever was recorded, the outputs are valid for their readers.

mod common;

use common::{at, complete, hybrid_read, submit, timeline};
use joulio_trace::{Event, EventKind, FaultKind, Recorded, Thread, Timeline, json, perfetto, text};
use joulio_units::{Direction, Nanos};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::HashMap;

fn kind() -> impl Strategy<Value = EventKind> {
    // Few identifiers, so that they are reused; statuses of 16 bits.
    let cid = 0u16..4;
    let direction = prop_oneof![
        Just(Direction::Read),
        Just(Direction::Write),
        Just(Direction::Other)
    ];
    let fault = prop_oneof![
        Just(FaultKind::Stale),
        Just(FaultKind::Doubled),
        Just(FaultKind::Unknown)
    ];
    let submit = |(direction, cid, bytes)| EventKind::Submit {
        direction,
        cid,
        bytes,
    };
    prop_oneof![
        4 => (direction, cid.clone(), any::<u32>()).prop_map(submit),
        4 => (cid.clone(), any::<u16>()).prop_map(|(cid, status)| EventKind::Complete { cid, status }),
        2 => any::<u32>().prop_map(|commands| EventKind::Doorbell { commands }),
        1 => Just(EventKind::SleepBegin),
        1 => Just(EventKind::SleepEnd),
        1 => Just(EventKind::BlockBegin),
        1 => any::<bool>().prop_map(|interrupted| EventKind::BlockEnd { interrupted }),
        1 => Just(EventKind::SpinBegin),
        1 => any::<u32>().prop_map(|polls| EventKind::SpinEnd { polls }),
        1 => Just(EventKind::PauseBegin),
        1 => any::<u32>().prop_map(|polls| EventKind::PauseEnd { polls }),
        1 => Just(EventKind::MonitorBegin),
        1 => any::<u32>().prop_map(|polls| EventKind::MonitorEnd { polls }),
        1 => cid.clone().prop_map(|cid| EventKind::Timeout { cid }),
        1 => cid.clone().prop_map(|cid| EventKind::Abort { cid }),
        1 => Just(EventKind::Reset),
        1 => Just(EventKind::LostInterrupt),
        1 => (fault, cid).prop_map(|(fault, cid)| EventKind::Fault { fault, cid }),
    ]
}

/// Returns times in any order: near each other, or anywhere on the clock.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let time = prop_oneof![9 => 0u64..2_000, 1 => any::<u64>()];
    let event = (time, 0u16..3, kind()).prop_map(|(at, queue, kind)| Event {
        at: Nanos(at),
        queue,
        kind,
    });
    vec(event, 0..80)
}

fn threads() -> impl Strategy<Value = Vec<Thread>> {
    let lost = any::<u32>().prop_map(u64::from);
    recording_threads(lost)
}

/// Returns threads without overwritten events.
fn whole_threads() -> impl Strategy<Value = Vec<Thread>> {
    recording_threads(Just(0))
}

fn recording_threads(lost: impl Strategy<Value = u64>) -> impl Strategy<Value = Vec<Thread>> {
    let recorded = (events(), lost).prop_map(|(events, overwritten)| Recorded {
        events,
        overwritten,
    });
    // Names come from the caller, and may contain quotes.
    let thread =
        ("\\PC{0,8}", vec(recorded, 0..3)).prop_map(|(name, recorded)| Thread { name, recorded });
    vec(thread, 0..3)
}

fn parsed(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Value {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("a vector takes everything");
    serde_json::from_slice(&bytes).expect("JSON")
}

fn trace_events(timeline: &Timeline) -> Vec<Value> {
    let document = parsed(|to| perfetto(timeline, to));
    document["traceEvents"].as_array().expect("array").clone()
}

/// Returns the time of an entry in nanoseconds, as Perfetto rounds it.
fn ns(entry: &Value, key: &str) -> i128 {
    let us = entry[key].as_f64().expect("a number");
    assert!(us >= 0.0);
    (us * 1e3).round() as i128
}

/// Checks everything that readers of the Trace Event Format rely on.
fn check(entries: &[Value]) {
    let mut last: HashMap<(String, u64), f64> = HashMap::new();
    let mut open: HashMap<String, &str> = HashMap::new();
    for entry in entries {
        let phase = entry["ph"].as_str().expect("ph");
        let name = entry["name"].as_str().expect("name");
        assert!(!name.is_empty() && entry["cat"].is_string() && entry["args"].is_object());
        let (pid, tid) = (entry["pid"].as_u64(), entry["tid"].as_u64());
        let ts = entry["ts"].as_f64().expect("ts");
        let track = match phase {
            "b" | "e" => entry["id"].as_str().expect("id").to_string(),
            _ => "thread".into(),
        };
        let before = last.insert((track.clone(), pid.expect("pid")), ts);
        assert!(before.unwrap_or(0.0) <= ts, "back in time: {entry}");
        assert!(tid.is_some());
        match phase {
            // One at a time in a lane, and an end has the name of its begin.
            "b" => assert_eq!(open.insert(track, name), None, "{entry}"),
            "e" => assert_eq!(open.remove(&track), Some(name), "{entry}"),
            "X" => assert!(entry["dur"].as_f64().expect("dur") >= 0.0),
            "i" => assert_eq!(entry["s"], "t"),
            "M" => assert!(entry["args"]["name"].is_string()),
            other => panic!("phase {other}"),
        }
    }
    assert!(open.is_empty(), "begun and never ended: {open:?}");
}

#[test]
fn a_slice_is_exact_to_the_nanosecond() {
    // On a machine that has been up for 40 days.
    let start = 3_456_000_123_456_789;
    let entries = trace_events(&timeline(hybrid_read(start, 0x1000)));
    check(&entries);
    let of = |phase: &str| entries.iter().find(|e| e["ph"] == phase).expect("one");
    assert_eq!((ns(of("b"), "ts"), ns(of("e"), "ts")), (0, 10_000));
    let sleep = of("X");
    assert_eq!(sleep["name"], "sleep");
    assert_eq!((ns(sleep, "ts"), ns(sleep, "dur")), (1_000, 4_000));
    let document = parsed(|to| perfetto(&timeline(hybrid_read(start, 0x1000)), to));
    assert_eq!(document["otherData"]["start_ns"], start.to_string());
}

#[test]
fn overlapping_ios_lie_in_lanes_and_a_lane_is_used_again() {
    let entries = trace_events(&timeline(vec![
        at(0, submit(1)),
        at(1, submit(2)),
        at(10, complete(1)),
        at(10, submit(3)),
        at(20, complete(2)),
        at(30, complete(3)),
    ]));
    check(&entries);
    let begins: Vec<_> = entries.iter().filter(|e| e["ph"] == "b").collect();
    assert_eq!(begins.len(), 3);
    assert_ne!(begins[0]["id"], begins[1]["id"]);
    assert_eq!(begins[0]["id"], begins[2]["id"]);
}

#[test]
fn json_has_nulls_for_what_was_not_recorded() {
    let value = parsed(|to| json(&timeline(vec![at(5, complete(1)), at(6, submit(2))]), to));
    let ios = value["ios"].as_array().expect("array");
    assert!(ios[0]["submit_ns"].is_null() && ios[0]["complete_ns"] == 5);
    assert!(ios[1]["complete_ns"].is_null() && ios[1]["op"] == "read");
    assert!(
        ios.iter()
            .all(|io| io["total_ns"].is_null() && io["meanwhile"].is_null())
    );
}

proptest! {
    #[test]
    fn every_submission_and_every_completion_is_in_exactly_one_io(threads in whole_threads()) {
        let recorded = || threads.iter().flat_map(|t| &t.recorded).flat_map(|r| &r.events);
        let submits = recorded().filter(|e| matches!(e.kind, EventKind::Submit { .. })).count();
        let completes = recorded().filter(|e| matches!(e.kind, EventKind::Complete { .. })).count();
        let timeline = Timeline::new(&threads);
        prop_assert_eq!(timeline.ios.iter().filter(|io| io.submitted.is_some()).count(), submits);
        prop_assert_eq!(timeline.ios.iter().filter(|io| io.completed.is_some()).count(), completes);
        for io in &timeline.ios {
            let used = io.meanwhile.slept + io.meanwhile.blocked + io.meanwhile.polled;
            prop_assert!(used <= io.total().unwrap_or_default());
            prop_assert!(io.submitted.is_some() || io.completed.is_some());
        }
    }

    #[test]
    fn waits_do_not_overlap(threads in threads()) {
        for core in Timeline::new(&threads).cores {
            let spans: Vec<_> = core.waits.iter().filter_map(|wait| wait.span()).collect();
            prop_assert!(spans.iter().all(|(begin, end)| begin <= end));
            prop_assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }

    #[test]
    fn perfetto_is_valid_whatever_was_recorded(threads in threads()) {
        let timeline = Timeline::new(&threads);
        let entries = trace_events(&timeline);
        check(&entries);
        let count = |phase: &str| entries.iter().filter(|e| e["ph"] == phase).count();
        prop_assert_eq!(count("M"), 2 * threads.len());
        prop_assert_eq!(count("b"), timeline.ios.iter().filter(|io| io.submitted.is_some()).count());
    }

    #[test]
    fn json_and_text_have_every_io(threads in threads(), width in 0usize..300) {
        let timeline = Timeline::new(&threads);
        let value = parsed(|to| json(&timeline, to));
        let count = |key: &str| value[key].as_array().map(Vec::len);
        prop_assert_eq!(count("ios"), Some(timeline.ios.len()));
        prop_assert_eq!(count("marks"), Some(timeline.marks.len()));
        let text = text(&timeline, width);
        let lines = text.lines().filter(|line| line.starts_with(" ! ")).count();
        prop_assert_eq!(lines, timeline.marks.len());
    }
}
