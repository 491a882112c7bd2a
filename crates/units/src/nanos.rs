//! Time, in nanoseconds.

use core::ops::{Add, AddAssign, Sub};

/// A point on, or a length of, a clock in nanoseconds.
///
/// The clock is whatever its owner uses: `CLOCK_MONOTONIC` in a real run, virtual time in a model.
/// 64 bits of nanoseconds last 584 years, so additions saturate only on nonsense.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of the clock, and the length of nothing.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than every other point.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// A length of `us` microseconds.
    #[inline]
    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us.saturating_mul(1_000))
    }

    /// A length of `ms` milliseconds.
    #[inline]
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms.saturating_mul(1_000_000))
    }

    /// A length of `seconds`; negative lengths and NaN become zero, and what is too long
    /// [`Nanos::MAX`].
    #[inline]
    pub fn from_seconds(seconds: f64) -> Nanos {
        // A float-to-integer `as` saturates and maps NaN to zero.
        Nanos((seconds * 1e9) as u64)
    }

    /// Returns the whole number next to `ns`, of two the greater; negative lengths and NaN become zero, and what is too
    /// long [`Nanos::MAX`].
    #[inline]
    pub fn nearest(ns: f64) -> Nanos {
        // f64::round is a call where the processor's rounding may not be requested, and this is in
        // the path of every modelled I/O.
        Nanos((ns + 0.5) as u64)
    }

    /// Returns the length in seconds.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the length times `factor`, which is not negative, rounded as by [`Nanos::nearest`]; both lengths are below
    /// 2^63 ns, 292 years.
    #[inline]
    pub fn scaled(self, factor: f64) -> Nanos {
        debug_assert!(self.0 < 1 << 63 && factor >= 0.0);
        // From and to a signed number a conversion is one instruction.
        Nanos((self.0 as i64 as f64 * factor + 0.5) as i64 as u64)
    }

    /// Returns the sum of two times that are both below 2^63 ns, 292 years: an instruction, where `+` has to saturate.
    #[inline]
    pub const fn plus(self, other: Nanos) -> Nanos {
        debug_assert!(self.0 | other.0 < 1 << 63);
        Nanos(self.0.wrapping_add(other.0))
    }

    /// Returns the length from `earlier` to here; zero when `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    #[inline]
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    #[inline]
    fn sub(self, other: Nanos) -> Nanos {
        self.since(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_nanosecond_is_the_one_that_rounds_to() {
        for (ns, nearest) in [
            (0.4, Nanos::ZERO),
            (0.5, Nanos(1)),
            (2.5, Nanos(3)),
            (-1.0, Nanos::ZERO),
            (f64::NAN, Nanos::ZERO),
            (f64::INFINITY, Nanos::MAX),
        ] {
            assert_eq!(Nanos::nearest(ns), nearest, "{ns}");
        }
    }

    #[test]
    fn sums_and_multiples_below_292_years_are_those_of_the_saturating_functions() {
        for time in [0, 1, 2, 5, 999, 1_000_000_007, 1 << 52] {
            for factor in [0.0, 0.1, 0.5, 1.0, 1.25, 1.9] {
                let nearest = Nanos::nearest(time as f64 * factor);
                assert_eq!(Nanos(time).scaled(factor), nearest, "{time} {factor}");
            }
            assert_eq!(Nanos(time).plus(Nanos(7)), Nanos(time) + Nanos(7));
        }
    }

    #[test]
    fn time_saturates_instead_of_wrapping() {
        assert_eq!(Nanos(1).since(Nanos(2)), Nanos::ZERO);
        assert_eq!(Nanos::MAX + Nanos(1), Nanos::MAX);
        assert_eq!(Nanos::from_seconds(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::from_seconds(f64::NAN), Nanos::ZERO);
    }
}
