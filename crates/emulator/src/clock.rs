//! The clock that a controller with a thread of its own lives by.

use joulio_units::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`.
pub(crate) fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    // Neither field of this clock is ever negative.
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
