//! Latency limits of percentiles.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use crate::Nanos;

/// A percentile, in thousandths of a percent: above 0 and below 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percentile(u32);

impl Percentile {
    /// Half of the I/Os.
    pub const P50: Percentile = Percentile(50_000);
    /// 9 of 10 I/Os.
    pub const P90: Percentile = Percentile(90_000);
    /// 99 of 100 I/Os.
    pub const P99: Percentile = Percentile(99_000);
    /// 999 of 1000 I/Os.
    pub const P99_9: Percentile = Percentile(99_900);

    /// Returns the fraction of I/Os at or below it, above 0 and below 1.
    pub fn quantile(self) -> f64 {
        f64::from(self.0) / 100_000.0
    }

    /// Returns the fraction of I/Os that may be above it, above 0 and below 1.
    pub fn above(self) -> f64 {
        f64::from(100_000 - self.0) / 100_000.0
    }
}

/// Writes `p99.9`.
impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1_000, self.0 % 1_000);
        match part {
            0 => write!(f, "p{whole}"),
            _ => {
                let digits = alloc::format!("{part:03}");
                write!(f, "p{whole}.{}", digits.trim_end_matches('0'))
            }
        }
    }
}

/// Parses `p99.9`, with at most three digits after the point.
impl FromStr for Percentile {
    type Err = SloError;

    fn from_str(text: &str) -> Result<Percentile, SloError> {
        let unknown = || SloError::Percentile(text.into());
        let number = text.strip_prefix('p').ok_or_else(unknown)?;
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str, max: usize| {
            let fits = (1..=max).contains(&text.len());
            fits && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(whole, 2) || !digits(part, 3) {
            return Err(unknown());
        }
        let whole: u32 = whole.parse().map_err(|_| unknown())?;
        let part: u32 = alloc::format!("{part:0<3}")
            .parse()
            .map_err(|_| unknown())?;
        match whole * 1_000 + part {
            0 => Err(unknown()),
            thousandths => Ok(Percentile(thousandths)),
        }
    }
}

/// The latency that a percentile of the I/Os may not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SloLimit {
    /// Percentile that is limited.
    pub percentile: Percentile,
    /// Nanoseconds that it may not exceed, above 0.
    pub latency: Nanos,
}

/// Reason why latencies are no valid promise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SloError {
    /// The list has no percentile.
    #[error("an empty promise: give one as p99=15us")]
    Empty,
    /// The list has too many percentiles.
    #[error("more than {} percentiles: leave some out", Slo::MAX)]
    TooMany,
    /// The text is no percentile with a limit.
    #[error("'{0}' is not a percentile: write p99 or p99.9, above p0 and below p100")]
    Percentile(String),
    /// A percentile is given twice.
    #[error("{0} is given twice: leave one out")]
    Twice(Percentile),
    /// The latency of a percentile is 0, which no I/O can keep.
    #[error("{0}: a promise of no time cannot be kept")]
    Zero(Percentile),
    /// A percentile above another has the shorter latency.
    #[error("{high} cannot be shorter than {low}: exchange them, or leave {low} out")]
    Contradiction {
        /// The lower percentile, with the longer latency.
        low: Percentile,
        /// The higher one, with the shorter latency.
        high: Percentile,
    },
}

/// A promise of latencies, a service level objective: 1 to [`Slo::MAX`] percentiles, the lowest first,
/// each with the latency that it may not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(into = "BTreeMap<String, u64>", try_from = "BTreeMap<String, u64>")
)]
pub struct Slo {
    limits: [SloLimit; Slo::MAX],
    count: usize,
}

impl Slo {
    /// Most percentiles of a promise.
    pub const MAX: usize = 4;

    /// Makes the promise of all `limits`, in any order.
    ///
    /// # Errors
    /// [`SloError`], if they are too few or too many, or contradict each other.
    pub fn new(limits: &[SloLimit]) -> Result<Slo, SloError> {
        let first = *limits.first().ok_or(SloError::Empty)?;
        if limits.len() > Slo::MAX {
            return Err(SloError::TooMany);
        }
        let mut slo = Slo {
            limits: [first; Slo::MAX],
            count: limits.len(),
        };
        slo.limits[..limits.len()].copy_from_slice(limits);
        slo.limits[..limits.len()].sort_by_key(|limit| limit.percentile);
        // Promises with the same limits are equal, in whatever order they were given.
        let least = slo.limits[0];
        slo.limits[limits.len()..].fill(least);
        if let Some(zero) = limits.iter().find(|limit| limit.latency == Nanos::ZERO) {
            return Err(SloError::Zero(zero.percentile));
        }
        for pair in slo.limits().windows(2) {
            let (low, high) = (pair[0], pair[1]);
            if low.percentile == high.percentile {
                return Err(SloError::Twice(low.percentile));
            }
            if high.latency < low.latency {
                return Err(SloError::Contradiction {
                    low: low.percentile,
                    high: high.percentile,
                });
            }
        }
        Ok(slo)
    }

    /// Makes the promise of one percentile, of at least a nanosecond.
    pub fn of(percentile: Percentile, latency: Nanos) -> Slo {
        let limit = SloLimit {
            percentile,
            latency: latency.max(Nanos(1)),
        };
        Slo {
            limits: [limit; Slo::MAX],
            count: 1,
        }
    }

    /// Returns the limits, the lowest percentile first.
    pub fn limits(&self) -> &[SloLimit] {
        &self.limits[..self.count]
    }

    /// Whether latencies whose percentiles `value` returns keep every limit.
    pub fn keeps(&self, value: impl Fn(Percentile) -> Nanos) -> bool {
        let mut limits = self.limits().iter();
        limits.all(|limit| value(limit.percentile) <= limit.latency)
    }
}

/// Writes `p99=15us,p99.9=40us`, in whole microseconds if that is exact, else in nanoseconds.
impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, limit) in self.limits().iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{}=", limit.percentile)?;
            match limit.latency.0 {
                ns if ns.is_multiple_of(1_000) => write!(f, "{}us", ns / 1_000)?,
                ns => write!(f, "{ns}ns")?,
            }
        }
        Ok(())
    }
}

/// Nanoseconds by percentile.
impl From<Slo> for BTreeMap<String, u64> {
    fn from(slo: Slo) -> BTreeMap<String, u64> {
        let limits = slo.limits().iter();
        limits
            .map(|limit| (limit.percentile.to_string(), limit.latency.0))
            .collect()
    }
}

impl TryFrom<BTreeMap<String, u64>> for Slo {
    type Error = SloError;

    fn try_from(map: BTreeMap<String, u64>) -> Result<Slo, SloError> {
        let limits = map.iter().map(|(percentile, &ns)| {
            Ok(SloLimit {
                percentile: percentile.parse()?,
                latency: Nanos(ns),
            })
        });
        let limits: alloc::vec::Vec<_> = limits.collect::<Result<_, SloError>>()?;
        Slo::new(&limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(percentile: &str, us: u64) -> SloLimit {
        SloLimit {
            percentile: percentile.parse().unwrap(),
            latency: Nanos::from_micros(us),
        }
    }

    #[test]
    fn percentiles_are_written_as_they_are_read() {
        for text in ["p50", "p99", "p99.9", "p99.99", "p99.999", "p0.001", "p5"] {
            assert_eq!(text.parse::<Percentile>().unwrap().to_string(), text);
        }
        assert_eq!("p99.90".parse(), Ok(Percentile::P99_9));
        assert_eq!(Percentile::P99_9.quantile(), 0.999);
        assert_eq!(Percentile::P99.above(), 0.01);
        for text in [
            "", "p", "99", "p100", "p0", "p0.000", "p99.", "p99.9999", "p-1", "p+9", "P99", "p9a",
        ] {
            let error = text.parse::<Percentile>().unwrap_err();
            assert_eq!(error, SloError::Percentile(text.into()));
        }
    }

    #[test]
    fn a_promise_has_its_limits_in_order() {
        let slo = Slo::new(&[limit("p99.9", 40), limit("p99", 15)]).unwrap();
        assert_eq!(slo.to_string(), "p99=15us,p99.9=40us");
        assert!(slo.keeps(|percentile| match percentile {
            Percentile::P99 => Nanos(15_000),
            _ => Nanos(40_000),
        }));
        assert!(!slo.keeps(|_| Nanos(15_001)));
        let one = Slo::of(Percentile::P99, Nanos(1_500));
        assert_eq!(one.to_string(), "p99=1500ns");
        let map: BTreeMap<String, u64> = slo.into();
        assert_eq!(Slo::try_from(map), Ok(slo));
    }

    #[test]
    fn what_cannot_be_promised_is_refused() {
        let refused = |limits: &[SloLimit]| Slo::new(limits).unwrap_err();
        assert_eq!(refused(&[]), SloError::Empty);
        assert_eq!(refused(&[limit("p9", 1); 5]), SloError::TooMany);
        let twice = [limit("p99", 1), limit("p99", 2)];
        assert_eq!(refused(&twice), SloError::Twice(Percentile::P99));
        assert_eq!(refused(&[limit("p99", 0)]), SloError::Zero(Percentile::P99));
        assert!(matches!(
            refused(&[limit("p99.9", 10), limit("p99", 15)]),
            SloError::Contradiction { .. }
        ));
    }
}
