//! Traces written by hand.
#![allow(dead_code, reason = "each test file uses some of it")]

use joulio_trace::{Event, EventKind, Recorded, Thread, Timeline};
use joulio_units::{Direction, Nanos};

/// Returns a thread with the events of one queue.
pub fn thread(events: Vec<Event>) -> Thread {
    Thread {
        name: "job 0".into(),
        recorded: vec![Recorded {
            events,
            overwritten: 0,
        }],
    }
}

/// Returns the timeline of one thread's events.
pub fn timeline(events: Vec<Event>) -> Timeline {
    Timeline::new(&[thread(events)])
}

/// Returns an event of queue 1.
pub fn at(ns: u64, kind: EventKind) -> Event {
    Event {
        at: Nanos(ns),
        queue: 1,
        kind,
    }
}

/// Returns the submission of a 4 KiB read.
pub fn submit(cid: u16) -> EventKind {
    EventKind::Submit {
        direction: Direction::Read,
        cid,
        bytes: 4096,
    }
}

/// Returns a successful completion.
pub fn complete(cid: u16) -> EventKind {
    EventKind::Complete { cid, status: 0 }
}

/// Returns a doorbell for one command.
pub fn doorbell() -> EventKind {
    EventKind::Doorbell { commands: 1 }
}

/// Returns the events of a read with hybrid polling: 10 us long, 4 us of them asleep and 5 us polling.
pub fn hybrid_read(start: u64, cid: u16) -> Vec<Event> {
    vec![
        at(start, submit(cid)),
        at(start + 500, doorbell()),
        at(start + 1_000, EventKind::SleepBegin),
        at(start + 5_000, EventKind::SleepEnd),
        at(start + 5_000, EventKind::SpinBegin),
        at(start + 10_000, EventKind::SpinEnd { polls: 80 }),
        at(start + 10_000, complete(cid)),
    ]
}
