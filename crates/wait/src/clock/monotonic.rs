//! `CLOCK_MONOTONIC`.

use joulio_units::Nanos;
use rustix::event::{PollFd, poll};
use rustix::io::Result;
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{Timespec, clock_gettime};
use std::time::Duration;

/// Time now on `CLOCK_MONOTONIC`.
#[inline]
pub fn now() -> Nanos {
    let t = clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Gives the core away for `time`.
pub fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// Sleeps until `until`, or a signal.
pub(crate) fn sleep_until(until: Nanos) {
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(until));
}

/// Blocks until one of `fds` is ready, or `until`, or a signal; [`Nanos::MAX`] is no limit. Returns how many are
/// ready.
///
/// # Errors
/// The error of poll(2), EINTR for a signal.
pub fn poll_until(fds: &mut [PollFd<'_>], until: Nanos) -> Result<usize> {
    let timeout = (until != Nanos::MAX).then(|| timespec(until - now()));
    poll(fds, timeout.as_ref())
}

fn timespec(time: Nanos) -> Timespec {
    Timespec {
        tv_sec: (time.0 / 1_000_000_000) as i64,
        tv_nsec: (time.0 % 1_000_000_000) as _,
    }
}
