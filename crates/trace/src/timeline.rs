//! The timeline: what events of many rings add up to.

use crate::matching::Matching;
use crate::{EventKind, Meanwhile, Recorded};
use joulio_units::{Direction, Nanos};

/// A thread, and what the queues that it waits on recorded.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// The contents of its queues' recorders.
    pub recorded: Vec<Recorded>,
}

/// I/Os, and what the cores did meanwhile. Made of all events that were kept: what has lost its
/// other half is there too, and says so.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The time of the first event.
    pub start: Nanos,
    /// The time of the last.
    pub end: Nanos,
    /// The threads, in the order given.
    pub cores: Vec<Core>,
    /// The I/Os of all threads, by their first event.
    pub ios: Vec<Io>,
    /// What is neither an I/O nor a wait: faults, resets and their like, by time.
    pub marks: Vec<Mark>,
}

/// What one thread's core did.
#[derive(Clone, Debug, Default)]
pub struct Core {
    /// The thread's name.
    pub name: String,
    /// Events kept.
    pub events: u64,
    /// Events that were overwritten before they could be read.
    pub overwritten: u64,
    /// How it waited, in the order of time; no two overlap.
    pub waits: Vec<Wait>,
    /// Submission doorbells that it rang.
    pub rings: Vec<Ring>,
}

/// A way of waiting, as a trace tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// By a timer.
    Sleep,
    /// For an interrupt.
    Block,
    /// Looking again and again.
    Poll,
    /// In a light power state of the core, between looks.
    Pause,
}

/// A wait of a core. One with a half missing counts nowhere: how long it was is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Which way.
    pub kind: WaitKind,
    /// When it began, if that was recorded.
    pub begin: Option<Nanos>,
    /// When it ended, if that was recorded.
    pub end: Option<Nanos>,
    /// Looks at the completion queues, in a poll or between pauses.
    pub looks: u32,
    /// An interrupt ended it.
    pub interrupted: bool,
}

/// A submission doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// When.
    pub at: Nanos,
    /// QID.
    pub queue: u16,
    /// For so many commands.
    pub commands: u32,
}

/// A command's way, as far as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Index of its thread in [`Timeline::cores`].
    pub core: usize,
    /// QID.
    pub queue: u16,
    /// CID.
    pub cid: u16,
    /// Its submission; `None` when that was overwritten, or never was.
    pub submitted: Option<Submitted>,
    /// When the doorbell was rung for it.
    pub doorbell: Option<Nanos>,
    /// Its completion; `None` when there was none before the end, or before the identifier was
    /// used again.
    pub completed: Option<Completed>,
    /// A completion of a command that had been completed before, and not submitted since.
    pub doubled: bool,
    /// What its core did from submission to completion; nothing unless both were recorded.
    pub meanwhile: Meanwhile,
}

/// A submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// When.
    pub at: Nanos,
    /// Which way the data goes.
    pub direction: Direction,
    /// The length of the data.
    pub bytes: u32,
}

/// A completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// When.
    pub at: Nanos,
    /// The 15 bits of the status field (Base figure 92).
    pub status: u16,
}

impl Completed {
    /// SCT and SC both zero; the other bits do not make an error.
    pub fn is_success(&self) -> bool {
        self.status & 0x7ff == 0
    }
}

/// Something of note at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Index of its thread in [`Timeline::cores`].
    pub core: usize,
    /// QID.
    pub queue: u16,
    /// When.
    pub at: Nanos,
    /// What.
    pub kind: EventKind,
}

impl Wait {
    /// When it began and ended, if both were recorded.
    pub fn span(&self) -> Option<(Nanos, Nanos)> {
        self.begin.zip(self.end)
    }
}

impl Io {
    /// When it is first heard of.
    pub fn first(&self) -> Nanos {
        let submitted = self.submitted.map(|submitted| submitted.at);
        let completed = self.completed.map(|completed| completed.at);
        submitted.or(completed).unwrap_or_default()
    }

    /// Submission and completion, if both were recorded.
    pub fn whole(&self) -> Option<(Submitted, Completed)> {
        self.submitted.zip(self.completed)
    }

    /// From submission to completion, if both were recorded.
    pub fn total(&self) -> Option<Nanos> {
        self.whole()
            .map(|(submitted, completed)| completed.at - submitted.at)
    }
}

impl Timeline {
    /// Puts the events of `threads` together.
    pub fn new(threads: &[Thread]) -> Timeline {
        let mut timeline = Timeline::default();
        let times = || {
            let recorded = threads.iter().flat_map(|thread| &thread.recorded);
            recorded.flat_map(|recorded| &recorded.events).map(|e| e.at)
        };
        timeline.start = times().min().unwrap_or_default();
        timeline.end = times().max().unwrap_or_default();
        for (index, thread) in threads.iter().enumerate() {
            Matching::of(index, thread).join(&mut timeline);
        }
        // Stable: what one thread did at one time stays in its order.
        timeline.ios.sort_by_key(Io::first);
        timeline.marks.sort_by_key(|mark| mark.at);
        timeline
    }

    /// Events that were overwritten before they could be read, of all threads.
    pub fn overwritten(&self) -> u64 {
        self.cores.iter().map(|core| core.overwritten).sum()
    }

    /// `at` as the time since the first event.
    pub fn since_start(&self, at: Nanos) -> Nanos {
        at - self.start
    }
}
