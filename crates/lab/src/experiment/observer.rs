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

/// Observer of runs that nobody watches.
pub(crate) struct Silent;

impl Observer for Silent {
    fn begin(&self, _: Method, _: &Job) {}
    fn progress(&self, _: f64) {}
    fn end(&self) {}
    fn note(&self, _: &str) {}
}
