//! The time-stamp counter, in which TPAUSE and UMWAIT count, or the counter in its place.

use crate::arch;
use joulio_units::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;

/// The measured rate of this machine's time-stamp counter: the one that CPUID reports is not true on every machine,
/// above all not on emulated ones. On aarch64 the counter is that of the virtual timer (CNTVCT_EL0), whose cycles are
/// longer on most: 1 to 50 MHz typically, 1 GHz from Armv8.6 on.
#[derive(Clone, Copy, Debug)]
pub struct Tsc {
    /// Cycles in 2^20 nanoseconds.
    rate: u64,
}

/// Time over which the rate is measured. The clock is precise to some tens of nanoseconds: a few parts in a hundred
/// thousand.
const MEASURED: Nanos = Nanos::from_millis(5);
/// Number of readings of clock and counter together at either end of that time, of which the tightest counts: the
/// thread may be kept from its CPU within one.
const READINGS: u32 = 10;

impl Tsc {
    /// Returns the counter of this machine; the first call in a process takes 5 ms.
    pub fn get() -> Tsc {
        static TSC: OnceLock<Tsc> = OnceLock::new();
        *TSC.get_or_init(Tsc::measure)
    }

    fn measure() -> Tsc {
        Tsc::measure_by(clock, Tsc::now)
    }

    fn measure_by(mut clock: impl FnMut() -> Nanos, mut counter: impl FnMut() -> u64) -> Tsc {
        let (start, first) = tightest(&mut clock, &mut counter);
        while clock().since(start) < MEASURED {}
        let (end, last) = tightest(&mut clock, &mut counter);
        Tsc::at_rate(last.wrapping_sub(first), end.since(start))
    }

    fn at_rate(cycles: u64, time: Nanos) -> Tsc {
        let rate = (u128::from(cycles) << 20) / u128::from(time.0.max(1));
        Tsc {
            rate: u64::try_from(rate).unwrap_or(u64::MAX).max(1),
        }
    }

    /// Returns the current value of the counter.
    #[inline]
    pub fn now() -> u64 {
        arch::counter()
    }

    /// Returns the number of cycles in `time`.
    #[inline]
    pub fn cycles(self, time: Nanos) -> u64 {
        let cycles = (u128::from(time.0) * u128::from(self.rate)) >> 20;
        cycles.try_into().unwrap_or(u64::MAX)
    }

    /// Returns the value of the counter `time` from now, at most `u64::MAX`.
    #[inline]
    pub fn after(self, time: Nanos) -> u64 {
        Tsc::now().saturating_add(self.cycles(time))
    }

    /// Returns the cycles in a second (Hz).
    pub fn hertz(self) -> f64 {
        self.rate as f64 * 1e9 / (1u64 << 20) as f64
    }
}

/// Returns a time and the value of the counter then.
fn tightest(clock: &mut impl FnMut() -> Nanos, counter: &mut impl FnMut() -> u64) -> (Nanos, u64) {
    let (mut least, mut found) = (Nanos::MAX, (Nanos::ZERO, 0));
    for _ in 0..READINGS {
        let before = clock();
        let cycles = counter();
        let width = clock().since(before);
        if width < least {
            (least, found) = (width, (before + Nanos(width.0 / 2), cycles));
        }
    }
    found
}

fn clock() -> Nanos {
    let t = clock_gettime(ClockId::Monotonic);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn cycles_follow_the_rate() {
        let tsc = Tsc::at_rate(2_100_000, Nanos::from_millis(1));
        assert!((tsc.hertz() / 2.1e9 - 1.0).abs() < 1e-6);
        assert!((20_999..=21_000).contains(&tsc.cycles(Nanos::from_micros(10))));
        assert_eq!(tsc.cycles(Nanos::ZERO), 0);
        // Far away is not soon.
        assert_eq!(tsc.cycles(Nanos::MAX), u64::MAX);
        assert_eq!(tsc.after(Nanos::MAX), u64::MAX);
    }

    /// Measures a counter of 2 GHz, where the thread is kept from its CPU for 10 ms before reading number `at` of
    /// those from the time `from` on.
    fn measured_with_a_jump(from: Nanos, at: u32) -> Tsc {
        let (now, readings) = (Cell::new(0), Cell::new(0));
        let read = || {
            let mut time: u64 = now.get() + 500;
            if Nanos(time) >= from {
                if readings.get() == at {
                    time += 10_000_000;
                }
                readings.set(readings.get() + 1);
            }
            now.set(time);
            time
        };
        Tsc::measure_by(|| Nanos(read()), || 2 * read())
    }

    #[test]
    fn a_thread_that_is_kept_from_its_cpu_measures_the_same_rate() {
        for from in [Nanos::ZERO, MEASURED] {
            for at in 0..4 * READINGS {
                let hertz = measured_with_a_jump(from, at).hertz();
                assert!((hertz / 2e9 - 1.0).abs() < 1e-3, "{from:?}, {at}: {hertz}");
            }
        }
    }

    #[test]
    fn the_counter_goes_on() {
        let before = Tsc::now();
        assert!(Tsc::get().hertz() > 1e6);
        assert!(Tsc::now() > before);
    }
}
