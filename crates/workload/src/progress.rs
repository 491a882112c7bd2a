//! Progress of a run, while it goes on.

use joulio_job::Job;
use joulio_units::Nanos;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunProgress {
    /// Part of the run that is over, 0 to 1.
    pub fraction: f64,
    /// Time since the measured part began; zero before.
    pub measured: Nanos,
    /// I/Os completed since then, without flushes.
    pub ios: u64,
    /// Bytes of these I/Os.
    pub bytes: u64,
}

/// Progress of a member's jobs, and the flag that ends them.
#[derive(Debug)]
pub(crate) struct MemberProgress {
    /// I/Os done, by job.
    pub(crate) jobs: Vec<JobProgress>,
    /// Set to end the jobs, when they have done what was requested.
    pub(crate) enough: AtomicBool,
}

impl MemberProgress {
    /// Returns the progress of the jobs of `job`, zero so far.
    pub(crate) fn new(job: &Job) -> MemberProgress {
        MemberProgress {
            jobs: (0..job.numjobs).map(|_| JobProgress::default()).collect(),
            enough: AtomicBool::new(false),
        }
    }

    /// I/Os and bytes of all jobs.
    pub(crate) fn done(&self) -> (u64, u64) {
        sum(self.jobs.iter().map(JobProgress::get))
    }

    /// Ends the jobs: no more I/O is issued.
    pub(crate) fn end(&self) {
        self.enough.store(true, Ordering::Relaxed);
    }
}

/// Returns the sums of I/Os and bytes.
pub(crate) fn sum(all: impl Iterator<Item = (u64, u64)>) -> (u64, u64) {
    all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Number of I/Os that a job has done, for a progress display.
#[derive(Debug, Default)]
pub(crate) struct JobProgress {
    ios: AtomicU64,
    bytes: AtomicU64,
}

impl JobProgress {
    /// Sets the number of I/Os completed so far, and their bytes.
    #[inline]
    pub(crate) fn set(&self, (ios, bytes): (u64, u64)) {
        self.ios.store(ios, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Returns the number of I/Os completed so far, and their bytes.
    pub(crate) fn get(&self) -> (u64, u64) {
        let bytes = self.bytes.load(Ordering::Relaxed);
        (self.ios.load(Ordering::Relaxed), bytes)
    }
}
