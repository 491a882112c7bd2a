//! The timeline as a file for ui.perfetto.dev and chrome://tracing, in the Trace Event Format.
//!
//! A thread appears as a process there, so that its tracks are adjacent: one with its waits, doorbells and marks,
//! and below it the I/Os of its queues. I/Os overlap, but slices of one track must not (Perfetto drops them), so
//! each I/O is put in a lane that is free during that I/O; Perfetto draws the lanes of the same name as one group.

mod lanes;

use crate::json::wait_name;
use crate::text::words::{mark, missing, operation, steps};
use crate::{Core, Timeline, TraceMark, TracedIo, Wait};
use joulio_units::{Joules, Nanos};
use lanes::Lanes;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{Error, Write};

/// Writes `timeline` in the Trace Event Format. Times are microseconds since the first event, exact to the
/// nanosecond; the time of the first event is in `otherData`.
///
/// # Errors
/// `to` cannot be written.
pub fn perfetto(timeline: &Timeline, mut to: impl Write) -> Result<(), Error> {
    let document = Document {
        trace_events: entries(timeline),
        display_time_unit: "ns",
        other_data: json!({
            "start_ns": timeline.start.0.to_string(),
            "overwritten_events": timeline.overwritten(),
        }),
    };
    serde_json::to_writer(&mut to, &document)?;
    to.write_all(b"\n")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    trace_events: Vec<Entry>,
    display_time_unit: &'static str,
    other_data: Value,
}

/// Entry of `traceEvents`.
#[derive(Serialize)]
struct Entry {
    name: String,
    cat: &'static str,
    /// Phase: X is a slice, b and e are the ends of an asynchronous one, i is an instant, M is metadata.
    ph: &'static str,
    /// Time in microseconds.
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: usize,
    tid: usize,
    /// Lane of an asynchronous slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Scope of an instant: the track of its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    args: Value,
}

impl Entry {
    /// Returns an entry of `core`'s process, without the fields that only some phases have.
    fn new(core: usize, ph: &'static str, cat: &'static str, name: String, ts: f64) -> Entry {
        Entry {
            name,
            cat,
            ph,
            ts,
            dur: None,
            pid: core + 1,
            tid: core + 1,
            id: None,
            s: None,
            args: json!({}),
        }
    }

    fn instant(core: usize, cat: &'static str, name: String, ts: f64, args: Value) -> Entry {
        Entry {
            s: Some("t"),
            args,
            ..Entry::new(core, "i", cat, name, ts)
        }
    }
}

/// Returns a length in microseconds, the format's unit. Exact to the nanosecond up to 104 days.
fn micros(time: Nanos) -> f64 {
    time.0 as f64 / 1e3
}

fn entries(timeline: &Timeline) -> Vec<Entry> {
    let ts = |at| micros(timeline.since_start(at));
    let mut entries = Vec::new();
    for (index, core) in timeline.cores.iter().enumerate() {
        entries.extend(core.waits.iter().map(|it| wait(index, it, ts)));
        entries.extend(rings(index, core, ts));
    }
    entries.extend(timeline.marks.iter().map(|it| note(it, ts)));
    let mut lanes = Lanes::default();
    for it in &timeline.ios {
        io(timeline, it, &mut lanes, ts, &mut entries);
    }
    // A stable sort: the end of a lane comes before a begin at the same time.
    entries.sort_by(|a, b| a.ts.total_cmp(&b.ts));
    let mut all = names(timeline);
    all.append(&mut entries);
    all
}

/// Returns the names of the threads.
fn names(timeline: &Timeline) -> Vec<Entry> {
    let cores = timeline.cores.iter().enumerate();
    cores
        .flat_map(|(index, core)| {
            let entry = |name: &str, value: &str| Entry {
                args: json!({ "name": value }),
                ..Entry::new(index, "M", "__metadata", name.into(), 0.0)
            };
            [
                entry("process_name", &core.name),
                entry("thread_name", "core"),
            ]
        })
        .collect()
}

fn wait(core: usize, wait: &Wait, ts: impl Fn(Nanos) -> f64) -> Entry {
    let name = wait_name(wait.kind);
    let args = json!({ "polls": wait.polls, "interrupted": wait.interrupted });
    if let Some((begin, end)) = wait.span() {
        return Entry {
            dur: Some(micros(end - begin)),
            args,
            ..Entry::new(core, "X", "wait", name.into(), ts(begin))
        };
    }
    let (at, half) = match wait.begin {
        Some(begin) => (begin, "began, its end is not recorded"),
        None => (
            wait.end.unwrap_or_default(),
            "ended, its begin is not recorded",
        ),
    };
    Entry::instant(core, "wait", format!("{name} {half}"), ts(at), args)
}

fn rings(index: usize, core: &Core, ts: impl Fn(Nanos) -> f64) -> impl Iterator<Item = Entry> {
    core.rings.iter().map(move |ring| {
        let args = json!({ "queue": ring.queue, "commands": ring.commands });
        Entry::instant(index, "queue", "doorbell".into(), ts(ring.at), args)
    })
}

fn note(it: &TraceMark, ts: impl Fn(Nanos) -> f64) -> Entry {
    let args = json!({ "queue": it.queue });
    Entry::instant(it.core, "mark", mark(it.kind), ts(it.at), args)
}

/// Returns both ends of an I/O, or an instant for a completion without a submission.
fn io(
    timeline: &Timeline,
    io: &TracedIo,
    lanes: &mut Lanes,
    ts: impl Fn(Nanos) -> f64,
    entries: &mut Vec<Entry>,
) {
    let Some(submitted) = io.submitted else {
        let name = format!("completion: {}", missing(io));
        entries.push(Entry::instant(
            io.core,
            "io",
            name,
            ts(io.first()),
            details(io),
        ));
        return;
    };
    // An I/O without a completion is drawn to the end of the trace, with a note.
    let end = io.completed.map_or(timeline.end, |completed| completed.at);
    let end = end.max(submitted.at);
    let name = format!("queue {} {}", io.queue, operation(io));
    let id = lanes.id(io.core, &name, submitted.at, end);
    let half = |ph, at, args| Entry {
        id: Some(id.clone()),
        args,
        ..Entry::new(io.core, ph, "io", name.clone(), ts(at))
    };
    entries.push(half("b", submitted.at, details(io)));
    entries.push(half("e", end, json!({})));
}

/// Returns the details that Perfetto shows for a selected I/O.
fn details(io: &TracedIo) -> Value {
    let meanwhile = &io.meanwhile;
    let mut details = json!({
        "cid": format!("{:#06x}", io.cid),
        "bytes": io.submitted.map(|submitted| submitted.bytes),
        "status": io.completed.map(|completed| completed.status),
        "recorded": match io.whole() {
            Some(_) => "whole",
            None => missing(io),
        },
        "submit_to_doorbell_us": io.doorbell.zip(io.submitted).map(|(bell, s)| micros(bell - s.at)),
        "slept_us": micros(meanwhile.slept),
        "blocked_us": micros(meanwhile.blocked),
        "polled_us": micros(meanwhile.polled),
        "paused_us": micros(meanwhile.paused),
        "polls": meanwhile.polls,
    });
    if let Some(plan) = &io.plan {
        let microjoules = |joules: Option<Joules>| joules.map(|joules| joules.0 * 1e6);
        details["plan"] = steps(plan).into();
        details["expected_uj"] = json!(microjoules(plan.expected));
        details["realised_uj"] = json!(microjoules(plan.realised));
    }
    details
}
