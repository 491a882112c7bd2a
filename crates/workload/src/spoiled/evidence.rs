//! Evidence by which a run is judged.

use crate::surroundings::Happened;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// Use of a CPU by a thread in a run: times, wake-ups and preemptions of the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scheduled {
    /// Time that the thread ran.
    pub(crate) ran: Nanos,
    /// Time that the thread was ready to run and waited for a CPU; none: the kernel does not count
    /// it.
    pub(crate) run_delay: Option<Nanos>,
    /// Times that the thread was woken.
    pub(crate) wakes: u64,
    /// Times that the thread's CPU was taken away.
    pub(crate) preemptions: u64,
}

/// Learning of a policy: how far it had got in the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Learning {
    /// Time that the policy was to go on learning at the beginning; zero: it had learnt.
    pub(crate) at_first: Nanos,
    /// The policy had not learnt at the end of the run.
    pub(crate) to_the_end: bool,
}

/// Evidence on a job: what is known of how it ran.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobEvidence {
    pub(crate) index: usize,
    pub(crate) window: Nanos,
    /// Time that the measured part was to take; zero: as long as its I/Os take.
    pub(crate) due: Nanos,
    pub(crate) scheduled: Scheduled,
    /// True if the job never blocked or slept, and was to have its CPU all the time.
    pub(crate) never_waits: bool,
    /// The kernel's thread that worked for it, if one did.
    pub(crate) kernel: Option<Scheduled>,
    pub(crate) learning: Learning,
    /// True if the job's process was stopped.
    pub(crate) stopped: bool,
}

/// Evidence on a run: facts about its jobs and about events during it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence<'a> {
    pub(crate) window: Nanos,
    pub(crate) jobs: Vec<JobEvidence>,
    /// The threads of emulated devices, together, and how many.
    pub(crate) devices: (Scheduled, usize),
    pub(crate) happened: Happened,
    /// The CPUs that jobs may use; none: any.
    pub(crate) cpus: &'a [usize],
    /// Largest delay of the thread that watches the run.
    pub(crate) late: Nanos,
    /// True if the run was requested to end. Service managers and timeout(1) send SIGCONT as they
    /// stop that, which a process gets that never was stopped.
    pub(crate) requested_to_end: bool,
}

impl Scheduled {
    /// Returns what was counted since `earlier`.
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
