//! The timeline as JSON.

use crate::text::words::{mark, operation};
use crate::{Core, PlanOfIo, Timeline, TraceMark, TracedIo, Wait, WaitKind, WokenBy};
use joulio_units::Nanos;
use serde::Serialize;
use std::io::{Error, Write};

/// Writes `timeline` as JSON. Times are nanoseconds of the recording's clock, lengths are nanoseconds; a value that
/// was not recorded is `null`.
///
/// # Errors
/// `to` cannot be written.
pub fn json(timeline: &Timeline, mut to: impl Write) -> Result<(), Error> {
    serde_json::to_writer_pretty(&mut to, &Document::new(timeline))?;
    to.write_all(b"\n")
}

#[derive(Serialize)]
struct Document<'a> {
    start_ns: u64,
    end_ns: u64,
    overwritten_events: u64,
    threads: Vec<ThreadView<'a>>,
    ios: Vec<IoView>,
    marks: Vec<MarkView>,
}

#[derive(Serialize)]
struct ThreadView<'a> {
    name: &'a str,
    events: u64,
    overwritten_events: u64,
    doorbells: usize,
    waits: Vec<WaitView>,
}

#[derive(Serialize)]
struct WaitView {
    kind: &'static str,
    begin_ns: Option<u64>,
    end_ns: Option<u64>,
    polls: u32,
    interrupted: bool,
}

#[derive(Serialize)]
struct IoView {
    thread: usize,
    queue: u16,
    cid: u16,
    op: Option<&'static str>,
    bytes: Option<u32>,
    submit_ns: Option<u64>,
    doorbell_ns: Option<u64>,
    complete_ns: Option<u64>,
    total_ns: Option<u64>,
    status: Option<u16>,
    /// True if it is the second completion of a command.
    doubled: bool,
    meanwhile: Option<MeanwhileView>,
    /// Plan of the policy for the wait; times count from the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanView>,
}

#[derive(Serialize)]
struct PlanView {
    rest: Option<&'static str>,
    rest_until_ns: Option<u64>,
    loose: Option<&'static str>,
    loose_until_ns: Option<u64>,
    watch: Option<&'static str>,
    watch_until_ns: u64,
    expected_joules: Option<f64>,
    expected_delay_ns: Option<u64>,
    realised_joules: Option<f64>,
}

#[derive(Serialize)]
struct MeanwhileView {
    slept_ns: u64,
    blocked_ns: u64,
    polled_ns: u64,
    paused_ns: u64,
    polls: u64,
    woken_ns: Option<u64>,
    woken_by: Option<&'static str>,
}

#[derive(Serialize)]
struct MarkView {
    thread: usize,
    queue: u16,
    at_ns: u64,
    what: String,
}

impl<'a> Document<'a> {
    fn new(timeline: &'a Timeline) -> Document<'a> {
        Document {
            start_ns: timeline.start.0,
            end_ns: timeline.end.0,
            overwritten_events: timeline.overwritten(),
            threads: timeline.cores.iter().map(ThreadView::new).collect(),
            ios: timeline.ios.iter().map(IoView::new).collect(),
            marks: timeline.marks.iter().map(MarkView::new).collect(),
        }
    }
}

impl<'a> ThreadView<'a> {
    fn new(core: &'a Core) -> ThreadView<'a> {
        ThreadView {
            name: &core.name,
            events: core.events,
            overwritten_events: core.overwritten,
            doorbells: core.rings.len(),
            waits: core.waits.iter().map(WaitView::new).collect(),
        }
    }
}

impl WaitView {
    fn new(wait: &Wait) -> WaitView {
        WaitView {
            kind: wait_name(wait.kind),
            begin_ns: wait.begin.map(|at| at.0),
            end_ns: wait.end.map(|at| at.0),
            polls: wait.polls,
            interrupted: wait.interrupted,
        }
    }
}

/// Returns the name of a kind of wait, the same in all machine-readable output.
pub(crate) fn wait_name(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Sleep => "sleep",
        WaitKind::Block => "block",
        WaitKind::Spin => "spin",
        WaitKind::Pause => "pause",
        WaitKind::Monitor => "monitor",
    }
}

impl IoView {
    fn new(io: &TracedIo) -> IoView {
        let ns = |at: Nanos| at.0;
        IoView {
            thread: io.core,
            queue: io.queue,
            cid: io.cid,
            op: io.submitted.map(|_| operation(io)),
            bytes: io.submitted.map(|submitted| submitted.bytes),
            submit_ns: io.submitted.map(|submitted| submitted.at.0),
            doorbell_ns: io.doorbell.map(ns),
            complete_ns: io.completed.map(|completed| completed.at.0),
            total_ns: io.total().map(ns),
            status: io.completed.map(|completed| completed.status),
            doubled: io.doubled,
            meanwhile: io.whole().map(|_| MeanwhileView::new(io)),
            plan: io.plan.as_ref().map(PlanView::new),
        }
    }
}

impl PlanView {
    fn new(plan: &PlanOfIo) -> PlanView {
        PlanView {
            rest: plan.rest.map(|(kind, _)| wait_name(kind)),
            rest_until_ns: plan.rest.map(|(_, until)| until.0),
            loose: plan.loose.map(|(kind, _)| wait_name(kind)),
            loose_until_ns: plan.loose.map(|(_, until)| until.0),
            watch: (plan.watch_until > Nanos::ZERO).then(|| wait_name(plan.watch)),
            watch_until_ns: plan.watch_until.0,
            expected_joules: plan.expected.map(|joules| joules.0),
            expected_delay_ns: plan.expected.map(|_| plan.expected_delay.0),
            realised_joules: plan.realised.map(|joules| joules.0),
        }
    }
}

impl MeanwhileView {
    fn new(io: &TracedIo) -> MeanwhileView {
        let meanwhile = &io.meanwhile;
        MeanwhileView {
            slept_ns: meanwhile.slept.0,
            blocked_ns: meanwhile.blocked.0,
            polled_ns: meanwhile.polled.0,
            paused_ns: meanwhile.paused.0,
            polls: meanwhile.polls,
            woken_ns: meanwhile.wake.map(|wake| wake.at.0),
            woken_by: meanwhile.wake.map(|wake| match wake.by {
                WokenBy::Timer => "timer",
                WokenBy::Interrupt => "interrupt",
            }),
        }
    }
}

impl MarkView {
    fn new(it: &TraceMark) -> MarkView {
        MarkView {
            thread: it.core,
            queue: it.queue,
            at_ns: it.at.0,
            what: mark(it.kind),
        }
    }
}
