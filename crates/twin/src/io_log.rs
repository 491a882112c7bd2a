//! The I/Os of a run, one by one.

use joulio_units::Nanos;
use joulio_wait::WaitCounters;

/// Counts of a job from the end of one I/O to the end of the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoCounts {
    /// Counters of waiting.
    pub counters: WaitCounters,
    /// Number of times that the job's CPU was taken for another thread.
    pub preemptions: u64,
    /// Time that the job was runnable and another thread had its CPU.
    pub run_delay: Nanos,
}

/// The I/Os of a job's measured part, in the order of their completions.
#[derive(Debug, Default)]
pub(crate) struct IoLog {
    pub(crate) ios: Vec<IoCounts>,
    /// Counts of the job up to the completion of the latest I/O.
    until: IoCounts,
}

impl IoLog {
    /// Begins the measured part; `so_far` are the job's counts until now.
    pub(crate) fn begin(&mut self, so_far: IoCounts) {
        self.until = so_far;
    }

    /// Logs an I/O that has completed; `so_far` are the job's counts until now.
    pub(crate) fn ended(&mut self, so_far: IoCounts) {
        self.ios.push(IoCounts {
            counters: so_far.counters - self.until.counters,
            preemptions: so_far.preemptions - self.until.preemptions,
            run_delay: so_far.run_delay - self.until.run_delay,
        });
        self.until = so_far;
    }
}
