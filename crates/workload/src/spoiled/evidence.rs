//! What is read of a run, to judge it by.

use crate::surroundings::Happened;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// What a thread had of its CPU in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scheduled {
    /// How long it ran.
    pub(crate) ran: Nanos,
    /// How long it was ready to run and waited for a CPU; none: the kernel does not count it.
    pub(crate) run_delay: Option<Nanos>,
    /// How often it was woken.
    pub(crate) wakes: u64,
    /// How often its CPU was taken away.
    pub(crate) preemptions: u64,
}

/// How far a policy had learnt in the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Learning {
    /// How long it was to go on learning at the beginning; zero: it had learnt.
    pub(crate) at_first: Nanos,
    /// At the end it still had not learnt.
    pub(crate) to_the_end: bool,
}

/// What is known of a job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobEvidence {
    pub(crate) index: usize,
    pub(crate) window: Nanos,
    pub(crate) scheduled: Scheduled,
    /// It never blocked or slept, and was to have its CPU all the time.
    pub(crate) never_waits: bool,
    /// The kernel's thread that worked for it, if one did.
    pub(crate) kernel: Option<Scheduled>,
    pub(crate) learning: Learning,
    /// Its process was stopped.
    pub(crate) stopped: bool,
}

/// What is known of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence<'a> {
    pub(crate) window: Nanos,
    pub(crate) jobs: Vec<JobEvidence>,
    /// The threads of emulated devices, together, and how many.
    pub(crate) devices: (Scheduled, usize),
    pub(crate) happened: Happened,
    /// The CPUs that jobs may use; none: any.
    pub(crate) cpus: &'a [usize],
    /// By how much the thread that watches the run was late at the most.
    pub(crate) late: Nanos,
    /// It was told to end. Service managers and timeout(1) send SIGCONT as they tell that, which a
    /// process gets that never was stopped.
    pub(crate) told_to_end: bool,
}

impl Scheduled {
    /// What was counted since `earlier`.
    pub(crate) fn since(self, earlier: Scheduled) -> Scheduled {
        let run_delay = self.run_delay.zip(earlier.run_delay);
        Scheduled {
            ran: self.ran.since(earlier.ran),
            run_delay: run_delay.map(|(now, then)| now.since(then)),
            wakes: self.wakes.saturating_sub(earlier.wakes),
            preemptions: self.preemptions.saturating_sub(earlier.preemptions),
        }
    }

    /// Of both.
    pub(crate) fn and(self, other: Scheduled) -> Scheduled {
        let run_delay = self.run_delay.zip(other.run_delay);
        Scheduled {
            ran: self.ran + other.ran,
            run_delay: run_delay.map(|(one, other)| one + other),
            wakes: self.wakes + other.wakes,
            preemptions: self.preemptions + other.preemptions,
        }
    }
}
