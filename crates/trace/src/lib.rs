//! Recorded events of a queue, and of the core that waits on it.
//!
//! The driver records [`Event`]s in a [`Trace`]. A trace that is off costs one branch; one that is on writes into
//! its own ring, a [`Recorder`]. A [`Timeline`] joins the events of all rings: the I/Os, and what the core did
//! while they were in flight. With the feature `formats` it can be printed as text (`text()`), as JSON (`json()`), or
//! for ui.perfetto.dev (`perfetto()`).
//!
//! ```
//! use joulio_trace::{Event, EventKind, Thread, Timeline, Trace};
//! use joulio_units::{Direction, Nanos};
//!
//! let mut trace = Trace::OFF;
//! trace.record(|| unreachable!("off"));
//!
//! trace.start(1024);
//! let direction = Direction::Read;
//! let submit = EventKind::Submit { direction, cid: 0x1000, bytes: 4096 };
//! trace.record(move || Event { at: Nanos(100), queue: 1, kind: submit });
//! let complete = EventKind::Complete { cid: 0x1000, status: 0 };
//! trace.record(move || Event { at: Nanos(10_100), queue: 1, kind: complete });
//!
//! let thread = Thread { name: "job 0".into(), recorded: vec![trace.take()] };
//! let timeline = Timeline::new(&[thread]);
//! assert_eq!(timeline.ios[0].total(), Some(Nanos(10_000)));
//! ```
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

mod charge;
mod events;
#[cfg(feature = "formats")]
mod json;
mod matching;
mod meanwhile;
#[cfg(feature = "formats")]
mod perfetto;
mod recorder;
#[cfg(feature = "formats")]
mod text;
mod timeline;
mod wait;

pub use events::{Event, EventKind, FaultKind};
#[cfg(feature = "formats")]
pub use json::json;
pub use meanwhile::{Meanwhile, Wake, WokenBy};
#[cfg(feature = "formats")]
pub use perfetto::perfetto;
pub use recorder::{Recorded, Recorder, Trace};
#[cfg(feature = "formats")]
pub use text::text;
pub use timeline::{
    CompletedIo, Core, PlanOfIo, Ring, Submitted, Thread, Timeline, TraceMark, TracedIo,
};
pub use wait::{Wait, WaitKind};
