//! Single I/Os of a run.

use joulio_job::JobLog;
use joulio_trace::Thread;

/// Recordings of a run's I/Os.
#[derive(Debug, Default)]
pub struct RecordedIos {
    /// Traces, one thread per job; empty unless requested.
    pub traced: Vec<Thread>,
    /// Logs of the jobs, in their order; empty unless requested.
    pub logs: Vec<JobLog>,
}
