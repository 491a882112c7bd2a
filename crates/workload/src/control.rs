//! Stopping a run early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

    /// Whether it was asked to end.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
