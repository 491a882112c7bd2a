//! Stopping a run early.

use joulio_units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Interval at which a waiting thread checks whether the run should stop.
pub(crate) const CHECK_INTERVAL: Nanos = Nanos::from_millis(100);

/// Time for which a job that is stopped waits for its I/Os in flight. Together with the interval of the checks it
/// ends within a second, whatever the device does.
pub(crate) const MAX_WAIT_AFTER_STOP: Nanos = Nanos::from_millis(500);

/// Flag that ends the run: no new I/O is submitted, the jobs wait for those in flight for half a second at most,
/// and the results so far are reported.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    requested: Arc<AtomicBool>,
    failed: Arc<AtomicBool>,
}

impl Stop {
    /// Returns the flag that a signal handler may set.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.requested
    }

    /// Ends the run.
    pub fn stop(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Returns the flag of another run: a requested end of this run ends that one too, a failure does not.
    pub fn of_another_run(&self) -> Stop {
        Stop {
            requested: self.requested.clone(),
            failed: Arc::default(),
        }
    }

    /// Ends the other jobs of a run after one has failed.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// True if the run was requested to end, by [`Stop::stop`] or the flag; false if it ends only because a job
    /// failed.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Returns true if the run should end.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.is_requested() || self.failed.load(Ordering::Relaxed)
    }
}
