//! Progress of a run, while it goes on.

use joulio_units::Nanos;
use std::sync::atomic::{AtomicU64, Ordering};

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunProgress {
    /// Part of the run that is over, 0 to 1.
    pub fraction: f64,
    /// Time since the measured part began; zero before.
    pub measured: Nanos,
    /// I/Os done since, flushes not counted.
    pub ios: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// I/Os that a job has done, for whoever watches.
#[derive(Debug, Default)]
pub(crate) struct JobProgress {
    ios: AtomicU64,
    bytes: AtomicU64,
}

impl JobProgress {
    /// Takes the I/Os done so far, and their bytes.
    #[inline]
    pub(crate) fn set(&self, (ios, bytes): (u64, u64)) {
        self.ios.store(ios, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// I/Os done so far, and their bytes.
    pub(crate) fn get(&self) -> (u64, u64) {
        let bytes = self.bytes.load(Ordering::Relaxed);
        (self.ios.load(Ordering::Relaxed), bytes)
    }

    /// I/Os and bytes of all jobs.
    pub(crate) fn sum(jobs: &[JobProgress]) -> (u64, u64) {
        let jobs = jobs.iter().map(JobProgress::get);
        jobs.fold((0, 0), |sum, job| (sum.0 + job.0, sum.1 + job.1))
    }
}
