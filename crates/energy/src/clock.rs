//! The clock that windows use.

use joulio_units::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::fmt;

/// A clock that windows read. A test supplies its own.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Returns `CLOCK_MONOTONIC`, which neither administrators nor NTP set.
    fn now(&self) -> Nanos;

    /// Returns the time that the machine was suspended since boot, which [`Clock::now`] excludes and a meter may not.
    fn suspended(&self) -> Nanos;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    fn now(&self) -> Nanos {
        read(ClockId::Monotonic)
    }

    fn suspended(&self) -> Nanos {
        // Monotonic first: the time between the two readings must not count as a suspension that ended.
        let awake = read(ClockId::Monotonic);
        read(ClockId::Boottime).since(awake)
    }
}

fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    let whole = u64::try_from(time.tv_sec).unwrap_or(0);
    let part = u64::try_from(time.tv_nsec).unwrap_or(0);
    Nanos(whole.saturating_mul(1_000_000_000).saturating_add(part))
}
