//! The clock of real waits.

use joulio_units::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// Now on `CLOCK_MONOTONIC`.
#[inline]
pub fn now() -> Nanos {
    let t = clock_gettime(ClockId::Monotonic);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}
