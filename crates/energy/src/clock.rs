//! The clock of windows.

use joulio_units::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::fmt;

/// Clock that windows read. A test brings its own.
pub trait Clock: Send + Sync + fmt::Debug {
    /// `CLOCK_MONOTONIC`, which no administrator and no NTP sets.
    fn now(&self) -> Nanos;

    /// The time that the machine was suspended since it was booted, which [`Clock::now`] leaves
    /// out and a meter may not.
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
        // Monotonic first: what passes between the two readings must not count as a suspension
        // that ended.
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
