//! The timeline, built from the events of many rings.

use crate::{EventKind, Meanwhile, Recorded, Wait, WaitKind};
use joulio_units::{Direction, Joules, Nanos};

/// A thread, and the recordings of the queues for which it waits.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Name of the thread.
    pub name: String,
    /// Recordings, one for each queue.
    pub recorded: Vec<Recorded>,
}

/// I/Os, and what the cores did while they were in flight, built from all events that were kept. An event whose
/// counterpart was overwritten is included; the counterpart is missing.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Time of the first event.
    pub start: Nanos,
    /// Time of the last event.
    pub end: Nanos,
    /// Cores of the threads, in the order given.
    pub cores: Vec<Core>,
    /// I/Os of all threads, ordered by their first event.
    pub ios: Vec<TracedIo>,
    /// Events that are neither an I/O nor a wait (faults, resets), ordered by time.
    pub marks: Vec<TraceMark>,
}

/// Waits and doorbells of one thread's core.
#[derive(Clone, Debug, Default)]
pub struct Core {
    /// Name of the thread.
    pub name: String,
    /// Number of events kept.
    pub events: u64,
    /// Number of events that were overwritten before they could be read, and of other queues' events of the same
    /// age, which are dropped because they show only a part.
    pub overwritten: u64,
    /// Waits in the order of time; no two overlap.
    pub waits: Vec<Wait>,
    /// Submission doorbells rung.
    pub rings: Vec<Ring>,
}

/// A write of a submission doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Time of the write.
    pub at: Nanos,
    /// QID.
    pub queue: u16,
    /// Commands written to the queue since the last doorbell.
    pub commands: u32,
}

/// A command from submission to completion, as far as its parts were recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracedIo {
    /// Index of the thread in [`Timeline::cores`].
    pub core: usize,
    /// QID.
    pub queue: u16,
    /// CID.
    pub cid: u16,
    /// Submission; `None` if it was overwritten, or never existed.
    pub submitted: Option<Submitted>,
    /// Time of the doorbell.
    pub doorbell: Option<Nanos>,
    /// Completion; `None` if there was none before the end of the recording, or before the identifier was reused.
    pub completed: Option<CompletedIo>,
    /// True if the completion is the second one of one submission.
    pub doubled: bool,
    /// Plan with which the policy waited for the I/O, if it had one.
    pub plan: Option<PlanOfIo>,
    /// Time of the core by kind of wait, from submission to completion; zero unless both were recorded.
    pub meanwhile: Meanwhile,
}

/// The plan with which a policy waited for an I/O. Times count from the submission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanOfIo {
    /// Kind and end of the rest; `None`: the plan has none.
    pub rest: Option<(WaitKind, Nanos)>,
    /// Kind and end of the loose watch, which sees a completion later than a close one; `None`: the plan has none.
    pub loose: Option<(WaitKind, Nanos)>,
    /// Kind of the close watch.
    pub watch: WaitKind,
    /// End of the close watch, after which the core blocks; zero: it blocks at once.
    pub watch_until: Nanos,
    /// Expected joules of the core; `None` if the policy could not estimate them.
    pub expected: Option<Joules>,
    /// Expected mean time in nanoseconds from the completion until the core sees it.
    pub expected_delay: Nanos,
    /// The I/O's share of the joules of the core's waits; set by [`Timeline::charge`].
    pub realised: Option<Joules>,
}

/// A submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// Time of the submission.
    pub at: Nanos,
    /// Direction of the data.
    pub direction: Direction,
    /// Length of the data in bytes.
    pub bytes: u32,
}

/// A completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedIo {
    /// Time at which the completion was seen.
    pub at: Nanos,
    /// Status field of 15 bits, without the phase tag (Base figure 92).
    pub status: u16,
}

impl CompletedIo {
    /// Returns true if SCT and SC are both zero; the other bits do not indicate an error.
    pub fn is_success(&self) -> bool {
        self.status & 0x7ff == 0
    }
}

/// An event that is part of neither an I/O nor a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceMark {
    /// Index of the thread in [`Timeline::cores`].
    pub core: usize,
    /// QID.
    pub queue: u16,
    /// Time of the event.
    pub at: Nanos,
    /// Kind of event.
    pub kind: EventKind,
}

impl TracedIo {
    /// Returns the time of the first event.
    pub fn first(&self) -> Nanos {
        let submitted = self.submitted.map(|submitted| submitted.at);
        let completed = self.completed.map(|completed| completed.at);
        submitted.or(completed).unwrap_or_default()
    }

    /// Returns the submission and the completion, if both were recorded.
    pub fn whole(&self) -> Option<(Submitted, CompletedIo)> {
        self.submitted.zip(self.completed)
    }

    /// Returns the time from submission to completion, if both were recorded.
    pub fn total(&self) -> Option<Nanos> {
        self.whole()
            .map(|(submitted, completed)| completed.at - submitted.at)
    }
}

impl Timeline {
    /// Returns the number of events of all threads that were overwritten before they could be read.
    pub fn overwritten(&self) -> u64 {
        self.cores.iter().map(|core| core.overwritten).sum()
    }

    /// Returns the time from the first event to `at`.
    pub fn since_start(&self, at: Nanos) -> Nanos {
        at - self.start
    }
}
