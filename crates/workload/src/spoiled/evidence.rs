//! Evidence by which a run is judged to be spoiled.

use crate::surroundings::Happened;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// Use of a CPU by a thread in a run: times, wake-ups and preemptions of the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scheduled {
    /// Time that the thread ran.
    pub(crate) ran: Nanos,
    /// Time that the thread was ready to run and waited for a CPU; `None`: the kernel does not count it.
    pub(crate) run_delay: Option<Nanos>,
    /// Number of times that the thread was woken.
    pub(crate) wakes: u64,
    /// Number of times that the thread was preempted.
    pub(crate) preemptions: u64,
}

/// How far a policy had learnt in the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Learning {
    /// Time that the policy still had to learn at the beginning of the measured part; zero: none.
    pub(crate) at_first: Nanos,
    /// True if the policy had not finished learning at the end of the run.
    pub(crate) to_the_end: bool,
}

/// Evidence of how a job ran.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobEvidence {
    pub(crate) index: usize,
    pub(crate) window: Nanos,
    /// Time that the measured part should take; zero: as long as its I/Os take.
    pub(crate) due: Nanos,
    pub(crate) scheduled: Scheduled,
    /// True if the job never blocks or sleeps, so that it should have its CPU all the time.
    pub(crate) never_waits: bool,
    /// Scheduling of the kernel's thread that worked for the job, if there was one.
    pub(crate) kernel: Option<Scheduled>,
    pub(crate) learning: Learning,
    /// True if the job's process was stopped.
    pub(crate) stopped: bool,
}

/// Evidence on a run: facts about its jobs, and events during it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence<'a> {
    pub(crate) window: Nanos,
    pub(crate) jobs: Vec<JobEvidence>,
    /// Scheduling of the threads of all emulated devices together, and their number.
    pub(crate) devices: (Scheduled, usize),
    pub(crate) happened: Happened,
    /// CPUs that the jobs may use; empty: any.
    pub(crate) cpus: &'a [usize],
    /// Largest delay of the conductor.
    pub(crate) late: Nanos,
    /// True if the run was requested to end. Service managers and timeout(1) send SIGCONT with that request, even
    /// to a process that was never stopped.
    pub(crate) requested_to_end: bool,
}

impl Scheduled {
    /// Returns the counts since `earlier`.
    pub(crate) fn since(self, earlier: Scheduled) -> Scheduled {
        let run_delay = self.run_delay.zip(earlier.run_delay);
        Scheduled {
            ran: self.ran.since(earlier.ran),
            run_delay: run_delay.map(|(now, then)| now.since(then)),
            wakes: self.wakes.saturating_sub(earlier.wakes),
            preemptions: self.preemptions.saturating_sub(earlier.preemptions),
        }
    }

    /// Returns the sums of both.
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
