//! Observer of an experiment's progress.

use joulio_workload::{Member, RunProgress, RunResult};

/// Observer of an experiment: receives its runs, their progress, and notes.
pub trait Observer: Sync {
    /// Begins, or goes on, with `over` runs of `all` done.
    fn planned(&self, _over: usize, _all: usize) {}

    /// A run of `members` begins.
    fn begin(&self, members: &[Member]);

    /// The run goes on.
    fn progress(&self, progress: RunProgress);

    /// The run has ended.
    fn end(&self);

    /// The run named `name` was done, with this result.
    fn measured(&self, _name: &str, _result: &RunResult) {}

    /// Something that the user has to know, as a line.
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
