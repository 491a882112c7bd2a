//! The clock of a controller that has a thread.

use joulio_units::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// Returns the time of `CLOCK_MONOTONIC`.
pub(crate) fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    // Neither field of this clock is ever negative.
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
