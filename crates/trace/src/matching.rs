//! Matches the two halves of I/Os and of waits among the events of one thread.

use crate::timeline::{
    CompletedIo, Core, PlanOfIo, Ring, Submitted, Thread, Timeline, TraceMark, TracedIo,
};
use crate::{Event, EventKind, Meanwhile, Recorded, Wait, WaitKind};
use joulio_units::{Joules, Nanos};
use std::collections::HashMap;

/// Number of the recorder, and QID: two controllers may both have a queue 1, but each queue has its own recorder.
type Queue = (usize, u16);

/// State of a command identifier.
enum Slot {
    /// The I/O with this index is in flight.
    Outstanding(usize),
    /// The command has completed, and its identifier has not been submitted again.
    Done,
}

impl Timeline {
    /// Joins the events of `threads`.
    pub fn new(threads: &[Thread]) -> Timeline {
        let mut timeline = Timeline::default();
        let times = || threads.iter().flat_map(kept).map(|(_, event)| event.at);
        timeline.start = times().min().unwrap_or_default();
        timeline.end = times().max().unwrap_or_default();
        for (index, thread) in threads.iter().enumerate() {
            Matching::of(index, thread).join(&mut timeline);
        }
        // A stable sort: events of one thread at the same time stay in order.
        timeline.ios.sort_by_key(TracedIo::first);
        timeline.marks.sort_by_key(|mark| mark.at);
        timeline
    }
}

/// Returns the events of a thread, each with the number of its ring, from the time since which no ring has lost
/// any. Before that time, waits or I/Os may be missing: the other events would show a core that did something else,
/// or I/Os that are charged for all of a wait.
fn kept(thread: &Thread) -> impl Iterator<Item = (usize, &Event)> {
    let rings = || thread.recorded.iter().enumerate();
    let lost = rings().filter(|(_, recorded)| recorded.overwritten > 0);
    let firsts = lost.filter_map(|(_, recorded)| recorded.events.first());
    let from = firsts.map(|event| event.at).max().unwrap_or_default();
    let all = rings().flat_map(|(ring, recorded)| recorded.events.iter().map(move |e| (ring, e)));
    all.filter(move |(_, event)| event.at >= from)
}

/// The events of one thread, on their way to a timeline.
pub(crate) struct Matching {
    index: usize,
    core: Core,
    ios: Vec<TracedIo>,
    marks: Vec<TraceMark>,
    slots: HashMap<(Queue, u16), Slot>,
    /// I/Os whose doorbell has not been rung yet.
    unrung: HashMap<Queue, Vec<usize>>,
    /// The wait that has begun and not ended.
    waiting: Option<(WaitKind, Nanos)>,
}

impl Matching {
    /// Matches all events of `thread`, the timeline's core `index`.
    pub(crate) fn of(index: usize, thread: &Thread) -> Matching {
        let mut events: Vec<(usize, &Event)> = kept(thread).collect();
        let all = |recorded: &Recorded| recorded.overwritten + recorded.events.len() as u64;
        let recorded: u64 = thread.recorded.iter().map(all).sum();
        // Each ring is in the order of time already; a stable sort keeps the recorded order of equal times.
        events.sort_by_key(|(_, event)| event.at);
        let mut matching = Matching {
            index,
            core: Core {
                name: thread.name.clone(),
                events: events.len() as u64,
                overwritten: recorded - events.len() as u64,
                ..Core::default()
            },
            ios: Vec::new(),
            marks: Vec::new(),
            slots: HashMap::new(),
            unrung: HashMap::new(),
            waiting: None,
        };
        for (ring, event) in events {
            matching.take(ring, event);
        }
        matching.forget_wait();
        matching
    }

    /// Adds the I/Os, waits and marks that were found to `timeline`.
    pub(crate) fn join(mut self, timeline: &mut Timeline) {
        for io in &mut self.ios {
            if let Some((submitted, completed)) = io.whole() {
                io.meanwhile = Meanwhile::between(&self.core.waits, submitted.at, completed.at);
            }
        }
        timeline.cores.push(self.core);
        timeline.ios.append(&mut self.ios);
        timeline.marks.append(&mut self.marks);
    }

    fn take(&mut self, ring: usize, event: &Event) {
        let queue = (ring, event.queue);
        let at = event.at;
        match event.kind {
            EventKind::Submit {
                direction,
                cid,
                bytes,
            } => {
                let submitted = Submitted {
                    at,
                    direction,
                    bytes,
                };
                self.submit(queue, cid, submitted);
            }
            EventKind::Doorbell { commands } => self.ring(queue, at, commands),
            EventKind::Plan {
                rest,
                cid,
                rest_ns,
                watch_ns,
            } => {
                let plan = PlanOfIo {
                    rest: rest.map(|kind| (kind, Nanos(rest_ns.into()))),
                    loose: None,
                    watch: WaitKind::Spin,
                    watch_until: Nanos(watch_ns.into()),
                    expected: None,
                    expected_delay: Nanos::ZERO,
                    realised: None,
                };
                self.planned(queue, cid, |io| io.plan = Some(plan));
            }
            EventKind::Loose {
                wait,
                cid,
                loose_ns,
            } => self.planned(queue, cid, |io| {
                if let Some(plan) = &mut io.plan {
                    plan.loose = Some((wait, Nanos(loose_ns.into())));
                }
            }),
            EventKind::Watch { wait, cid } => self.planned(queue, cid, |io| {
                if let Some(plan) = &mut io.plan {
                    plan.watch = wait;
                }
            }),
            EventKind::Expected {
                cid,
                nanojoules,
                delay_ns,
            } => self.planned(queue, cid, |io| {
                if let Some(plan) = &mut io.plan {
                    plan.expected = Some(Joules(f64::from(nanojoules) * 1e-9));
                    plan.expected_delay = Nanos(delay_ns.into());
                }
            }),
            EventKind::Complete { cid, status } => {
                self.complete(queue, cid, CompletedIo { at, status });
            }
            EventKind::SleepBegin => self.begin(WaitKind::Sleep, at),
            EventKind::SleepEnd => self.end(WaitKind::Sleep, at, 0, false),
            EventKind::BlockBegin => self.begin(WaitKind::Block, at),
            EventKind::BlockEnd { interrupted } => self.end(WaitKind::Block, at, 0, interrupted),
            EventKind::SpinBegin => self.begin(WaitKind::Spin, at),
            EventKind::SpinEnd { polls } => self.end(WaitKind::Spin, at, polls, false),
            EventKind::PauseBegin => self.begin(WaitKind::Pause, at),
            EventKind::PauseEnd { polls } => self.end(WaitKind::Pause, at, polls, false),
            EventKind::MonitorBegin => self.begin(WaitKind::Monitor, at),
            EventKind::MonitorEnd { polls } => self.end(WaitKind::Monitor, at, polls, false),
            EventKind::Timeout { .. }
            | EventKind::Abort { .. }
            | EventKind::Reset
            | EventKind::LostInterrupt
            | EventKind::Fault { .. } => self.marks.push(TraceMark {
                core: self.index,
                queue: event.queue,
                at,
                kind: event.kind,
            }),
        }
    }

    fn io(&self, queue: Queue, cid: u16) -> TracedIo {
        TracedIo {
            core: self.index,
            queue: queue.1,
            cid,
            submitted: None,
            doorbell: None,
            completed: None,
            doubled: false,
            plan: None,
            meanwhile: Meanwhile::default(),
        }
    }

    /// Notes the plan of an I/O in flight.
    fn planned(&mut self, queue: Queue, cid: u16, note: impl FnOnce(&mut TracedIo)) {
        if let Some(Slot::Outstanding(index)) = self.slots.get(&(queue, cid)) {
            note(&mut self.ios[*index]);
        }
    }

    /// Adds an I/O that is submitted. If another still has this identifier, it stays without a completion.
    fn submit(&mut self, queue: Queue, cid: u16, submitted: Submitted) {
        let index = self.ios.len();
        self.ios.push(TracedIo {
            submitted: Some(submitted),
            ..self.io(queue, cid)
        });
        self.slots.insert((queue, cid), Slot::Outstanding(index));
        self.unrung.entry(queue).or_default().push(index);
    }

    fn ring(&mut self, queue: Queue, at: Nanos, commands: u32) {
        self.core.rings.push(Ring {
            at,
            queue: queue.1,
            commands,
        });
        for index in self.unrung.entry(queue).or_default().drain(..) {
            let io = &mut self.ios[index];
            // A device may see a command before its doorbell; then the doorbell was not for this command.
            if io.completed.is_none() {
                io.doorbell = Some(at);
            }
        }
    }

    fn complete(&mut self, queue: Queue, cid: u16, completed: CompletedIo) {
        let before = self.slots.insert((queue, cid), Slot::Done);
        if let Some(Slot::Outstanding(index)) = before {
            self.ios[index].completed = Some(completed);
            return;
        }
        self.ios.push(TracedIo {
            completed: Some(completed),
            doubled: before.is_some(),
            ..self.io(queue, cid)
        });
    }

    fn begin(&mut self, kind: WaitKind, at: Nanos) {
        self.forget_wait();
        self.waiting = Some((kind, at));
    }

    fn end(&mut self, kind: WaitKind, at: Nanos, polls: u32, interrupted: bool) {
        let begun = self.waiting.filter(|(waiting, _)| *waiting == kind);
        if begun.is_some() {
            self.waiting = None;
        } else {
            self.forget_wait();
        }
        self.core.waits.push(Wait {
            kind,
            begin: begun.map(|(_, begin)| begin),
            end: Some(at),
            polls,
            interrupted,
        });
    }

    /// Ends the wait that has begun, whose end was not recorded.
    fn forget_wait(&mut self) {
        if let Some((kind, begin)) = self.waiting.take() {
            self.core.waits.push(Wait {
                kind,
                begin: Some(begin),
                end: None,
                polls: 0,
                interrupted: false,
            });
        }
    }
}
