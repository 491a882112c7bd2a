//! Events of the machine during a run that may change its figures.

use crate::stopped;
use joulio_kernel_io::{CpuTimes, CpuUse};
use joulio_kernel_io::{Throttled, Throttles};
use joulio_nvme::wait::now;
use joulio_units::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::path::Path;

/// Temperatures, CPU times and clocks of a machine at one moment.
#[derive(Debug)]
pub struct Surroundings {
    at: Nanos,
    throttles: Option<Throttles>,
    cpus: Option<CpuTimes>,
    clocks: Clocks,
    stops: u64,
}

/// Events between the beginning and the end of a run. An event that cannot be observed counts as not having
/// happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Happened {
    /// Time from the beginning to the end.
    pub window: Nanos,
    /// True if CPUs were slowed down because of their temperature.
    pub throttled: bool,
    /// Use of the time of each CPU, by the CPU's number; empty if it is not known.
    pub cpus: BTreeMap<usize, CpuUse>,
    /// Time for which the machine was suspended.
    pub suspended: Nanos,
    /// Step of the wall clock in nanoseconds: forward, or backward if negative.
    pub stepped_ns: i64,
    /// True if the process was stopped and continued (SIGSTOP, Ctrl-Z).
    pub stopped: bool,
}

impl Surroundings {
    /// Reads the present state of the system whose file tree begins at `root`: `/`, or a captured tree. Clocks and
    /// signals are those of this process.
    pub fn now(root: &Path) -> Surroundings {
        Surroundings {
            at: now(),
            throttles: Throttles::read(root).ok(),
            cpus: CpuTimes::read(root).ok(),
            clocks: Clocks::now(),
            stops: stopped::times(),
        }
    }

    /// Returns the events since `before`.
    pub fn since(&self, before: &Surroundings) -> Happened {
        let throttles = self.throttles.as_ref().zip(before.throttles.as_ref());
        let cpus = self.cpus.as_ref().zip(before.cpus.as_ref());
        Happened {
            window: self.at.since(before.at),
            throttled: throttles.is_some_and(|(now, then)| now.since(then) == Throttled::Yes),
            cpus: cpus.map_or_else(BTreeMap::new, |(now, then)| now.since(then)),
            suspended: self.clocks.suspended.since(before.clocks.suspended),
            stepped_ns: self.clocks.wall - before.clocks.wall,
            stopped: self.stops != before.stops,
        }
    }
}

/// Differences between the machine's clocks.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    /// Time that `CLOCK_BOOTTIME` is ahead of `CLOCK_MONOTONIC`, which stands still while the machine is suspended.
    suspended: Nanos,
    /// `CLOCK_REALTIME` less `CLOCK_BOOTTIME`, in nanoseconds: it changes only when the clock is set, since NTP
    /// slows down or speeds up both.
    wall: i64,
}

impl Clocks {
    /// Reads the clocks. Three cannot be read at one moment, so that the quickest of several readings is used.
    fn now() -> Clocks {
        const READINGS: usize = 5;
        let quickest = (0..READINGS)
            .map(|_| Clocks::reading())
            .min_by_key(|(took, _)| *took);
        quickest.map_or_else(|| Clocks::reading().1, |(_, clocks)| clocks)
    }

    fn reading() -> (Nanos, Clocks) {
        let awake = read(ClockId::Monotonic);
        let since_boot = read(ClockId::Boottime);
        let wall = read(ClockId::Realtime);
        let signed = |time: Nanos| i64::try_from(time.0).unwrap_or(i64::MAX);
        let clocks = Clocks {
            suspended: since_boot.since(awake),
            wall: signed(wall) - signed(since_boot),
        };
        (read(ClockId::Monotonic).since(awake), clocks)
    }
}

fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    let whole = u64::try_from(time.tv_sec).unwrap_or(0);
    let part = u64::try_from(time.tv_nsec).unwrap_or(0);
    Nanos(whole.saturating_mul(1_000_000_000).saturating_add(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_happens_to_the_clocks_between_two_readings() {
        let before = Surroundings::now(Path::new("/"));
        let happened = Surroundings::now(Path::new("/")).since(&before);
        assert_eq!(happened.suspended.0 / 100_000_000, 0, "{happened:?}");
        assert_eq!(happened.stepped_ns / 100_000_000, 0, "{happened:?}");
    }

    #[test]
    fn suspensions_and_steps_are_distinguished() {
        let at = |suspended, wall| Surroundings {
            at: Nanos(0),
            throttles: None,
            cpus: None,
            clocks: Clocks {
                suspended: Nanos(suspended),
                wall,
            },
            stops: 0,
        };
        let happened = at(5_000, 70).since(&at(1_000, 70));
        assert_eq!((happened.suspended, happened.stepped_ns), (Nanos(4_000), 0));
        let happened = at(1_000, 40).since(&at(1_000, 70));
        assert_eq!(
            (happened.suspended, happened.stepped_ns),
            (Nanos::ZERO, -30)
        );
    }
}
