//! Stopping a run early.

use joulio_units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Interval at which a thread that waits checks whether the run is to stop.
pub(crate) const CHECK_INTERVAL: Nanos = Nanos::from_millis(100);

/// Time for which a job that is stopped waits for its I/Os in flight: with the interval of the
/// checks it ends within a second, whatever the device does.
pub(crate) const MAX_WAIT_AFTER_STOP: Nanos = Nanos::from_millis(500);

/// Set it and the run ends: no new I/O goes out, those in flight are awaited for half a second at
/// most, what there is is reported.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A flag that a signal handler may set.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }

    /// Ends the run.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the run is to end.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
