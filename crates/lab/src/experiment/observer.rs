//! Observer of an experiment's progress.

use joulio_workload::{Job, Method};

/// Observer of an experiment: receives its runs, their progress, and notes.
pub trait Observer: Sync {
    /// Begins, or goes on, with `over` runs of `all` done.
    fn planned(&self, _over: usize, _all: usize) {}

    /// A run begins.
    fn begin(&self, method: Method, job: &Job);

    /// `fraction` of the run is over.
    fn progress(&self, fraction: f64);

    /// The run has ended.
    fn end(&self);

    /// Something that the user has to know, as a line.
    fn note(&self, line: &str);
}
