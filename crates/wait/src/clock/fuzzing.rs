//! A clock whose time passes only when it is read or waited for: no wait takes real time, and the same input always
//! gives the same times. Each thread has its own.

use joulio_units::Nanos;
use rustix::event::{PollFd, poll};
use rustix::io::Result;
use rustix::time::Timespec;
use std::cell::Cell;
use std::time::Duration;

/// Time that passes at a reading of the clock, so that a loop until some time ends soon.
const READING: Nanos = Nanos(20_000);
/// Shortest time that passes in a sleep, as on a busy machine, so that a loop of sleeps ends soon too.
const NAP: Nanos = Nanos::from_millis(1);

const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

thread_local! {
    static NOW: Cell<Nanos> = const { Cell::new(Nanos(1_000_000_000)) };
}

/// Now, and a little later.
pub fn now() -> Nanos {
    NOW.set(NOW.get() + READING);
    NOW.get()
}

/// Lets `time` pass.
pub fn sleep(time: Duration) {
    NOW.set(NOW.get() + Nanos(time.as_nanos() as u64).max(NAP));
}

/// Lets time pass until `until`.
pub(crate) fn sleep_until(until: Nanos) {
    NOW.set(NOW.get().max(until));
}

/// Returns the descriptors that are ready already; if none is, none will be, and the time becomes `until`.
///
/// # Panics
/// If the wait would never end.
pub fn poll_until(fds: &mut [PollFd<'_>], until: Nanos) -> Result<usize> {
    let ready = poll(fds, Some(&AT_ONCE))?;
    if ready == 0 {
        assert!(until != Nanos::MAX, "a wait without an end");
        sleep_until(until);
    }
    Ok(ready)
}
