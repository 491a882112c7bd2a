//! Records the events of a read by hand, and prints its trace.

use joulio_trace::{Event, EventKind, Thread, Timeline, Trace, text};
use joulio_units::{Direction, Nanos};

/// Prints the trace of one read.
pub fn main() {
    let mut trace = Trace::OFF;
    trace.start(16);
    let submit = EventKind::Submit {
        direction: Direction::Read,
        cid: 1,
        bytes: 4096,
    };
    let complete = EventKind::Complete { cid: 1, status: 0 };
    for (at, kind) in [(100, submit), (10_100, complete)] {
        trace.record(move || Event {
            at: Nanos(at),
            queue: 1,
            kind,
        });
    }
    let thread = Thread {
        name: "by hand".into(),
        recorded: vec![trace.take()],
    };
    println!("{}", text(&Timeline::new(&[thread]), 100));
}
