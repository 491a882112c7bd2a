//! Observer of an experiment's progress.

use joulio_workload::{Member, RunProgress, RunResult};

/// Receiver of an experiment's runs, their progress, and notes.
pub trait Observer: Sync {
    /// Reports that `over` of `all` runs are done, at the start or when a session is continued.
    fn planned(&self, _over: usize, _all: usize) {}

    /// Reports that a run of `members` begins.
    fn begin(&self, members: &[Member]);

    /// Reports the progress of the run.
    fn progress(&self, progress: RunProgress);

    /// Reports that the run has ended.
    fn end(&self);

    /// Reports that the run `name` was done, with its result.
    fn measured(&self, _name: &str, _result: &RunResult) {}

    /// Shows the user a line of information.
    fn note(&self, line: &str);
}

/// Observer that ignores everything.
pub(crate) struct Silent;

impl Observer for Silent {
    fn begin(&self, _: &[Member]) {}
    fn progress(&self, _: RunProgress) {}
    fn end(&self) {}
    fn note(&self, _: &str) {}
}
