//! The marker that a machine writes into the trace of its own power.

use joulio_units::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{available_parallelism, scope, sleep};
use std::time::{Duration, Instant};

/// Interval at which a wait checks whether it was cancelled.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Rounds of a spinning core between two checks of the clock.
const ROUNDS: u32 = 4096;

/// The shape of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Time for which all cores spin.
    pub spin: Nanos,
    /// Time for which all cores idle after each spin, and before the first.
    pub idle: Nanos,
    /// Number of spins.
    pub times: u32,
}

impl Default for Shape {
    /// Returns 5 s and 5 s, three times: a logger of 1 Hz sees each part five times.
    fn default() -> Shape {
        Shape {
            spin: Nanos::from_millis(5_000),
            idle: Nanos::from_millis(5_000),
            times: 3,
        }
    }
}

/// A moment at which a marker's power changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkerEdge {
    /// `CLOCK_REALTIME`: since the epoch.
    pub realtime: Nanos,
    /// `CLOCK_MONOTONIC`: since the machine was started, never set.
    pub monotonic: Nanos,
    /// Whether the cores began to spin; otherwise they stopped.
    pub rising: bool,
}

/// A marker that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The marker's edges, rising and falling in turn.
    pub edges: Vec<MarkerEdge>,
}

/// Error of a cancelled marker: the pattern in the trace is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the marker was cancelled")]
pub struct Cancelled;

impl Shape {
    /// Time that the marker takes.
    pub fn length(&self) -> Nanos {
        let once = self.spin.0.saturating_add(self.idle.0);
        Nanos(once.saturating_mul(self.times.into())) + self.idle
    }

    /// Makes a marker: idles, then spins on every core that this process may use and idles, and so
    /// on. The machine has to be otherwise idle.
    ///
    /// # Errors
    ///
    /// [`Cancelled`] soon after `cancel` is set.
    pub fn make(&self, cancel: &AtomicBool) -> Result<Marker, Cancelled> {
        let mut edges = Vec::new();
        wait(self.idle, cancel)?;
        for _ in 0..self.times {
            edges.push(MarkerEdge::now(true));
            spin(self.spin, cancel)?;
            edges.push(MarkerEdge::now(false));
            wait(self.idle, cancel)?;
        }
        Ok(Marker { edges })
    }
}

impl MarkerEdge {
    fn now(rising: bool) -> MarkerEdge {
        MarkerEdge {
            realtime: read(ClockId::Realtime),
            monotonic: read(ClockId::Monotonic),
            rising,
        }
    }
}

/// Reads a clock; one before its epoch reads as zero.
fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

fn wait(length: Nanos, cancel: &AtomicBool) -> Result<(), Cancelled> {
    let started = Instant::now();
    let length = Duration::from_nanos(length.0);
    loop {
        if cancel.load(Ordering::Relaxed) {
            return Err(Cancelled);
        }
        let left = length.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        sleep(left.min(CHECK_INTERVAL));
    }
}

/// Keeps every core busy with arithmetic; a `pause` would draw less power.
fn spin(length: Nanos, cancel: &AtomicBool) -> Result<(), Cancelled> {
    let done = AtomicBool::new(false);
    let cores = available_parallelism().map_or(1, usize::from);
    scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let mut number = 1.0_f64;
                while !done.load(Ordering::Relaxed) {
                    for _ in 0..ROUNDS {
                        number = black_box(number) * 1.000_000_1 + 1e-9;
                    }
                    number = number.fract();
                }
            });
        }
        let waited = wait(length, cancel);
        done.store(true, Ordering::Relaxed);
        waited
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Shape = Shape {
        spin: Nanos::from_millis(2),
        idle: Nanos::from_millis(1),
        times: 3,
    };

    #[test]
    fn a_marker_has_its_edges_on_both_clocks() {
        let marker = SHORT.make(&AtomicBool::new(false)).unwrap();
        assert_eq!(marker.edges.len(), 6);
        for (at, pair) in marker.edges.windows(2).enumerate() {
            let part = if at % 2 == 0 { SHORT.spin } else { SHORT.idle };
            assert_eq!((pair[0].rising, pair[1].rising), (at % 2 == 0, at % 2 == 1));
            assert!(pair[1].monotonic.since(pair[0].monotonic) >= part);
        }
        assert!(marker.edges[0].realtime > Nanos::from_seconds(1e9));
    }

    #[test]
    fn a_cancelled_marker_is_none() {
        let long = Shape {
            spin: Nanos::from_seconds(1e6),
            ..SHORT
        };
        assert_eq!(long.make(&AtomicBool::new(true)), Err(Cancelled));
        let cancel = AtomicBool::new(false);
        scope(|scope| {
            let marker = scope.spawn(|| long.make(&cancel));
            sleep(Duration::from_millis(20));
            cancel.store(true, Ordering::Relaxed);
            assert_eq!(marker.join().unwrap(), Err(Cancelled));
        });
    }

    #[test]
    fn the_default_marker_takes_half_a_minute_and_a_lead() {
        assert_eq!(Shape::default().length(), Nanos::from_seconds(35.0));
    }
}
