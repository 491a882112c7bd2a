//! The dependence of a device's latency on the size of a request.

use serde::{Deserialize, Serialize};

use crate::Figure;
use crate::check::FigureCheck;
use crate::error::ProfileError;
use crate::range::Range;

/// The device's mean service time for one request size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyPoint {
    /// The size of the request in bytes.
    pub bytes: u32,
    /// Mean time in microseconds that the device needs for the request if it has no other.
    pub us: Figure,
}

/// A table of latencies for the sampler, with straight lines between its points.
///
/// A request smaller than the first point takes as long as the first: the time of the command remains. Beyond the
/// last point the last line continues, but with at least the slope given to [`LatencyCurve::new`], which is the
/// link's and the only slope of a table with one point.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyCurve {
    /// Bytes and nanoseconds, in the order of the bytes.
    points: Box<[(f64, f64)]>,
    /// Nanoseconds per byte beyond the last point.
    beyond: f64,
}

impl LatencyCurve {
    /// Returns the curve through `points`, which a profile's rules keep sorted; without points all latencies are
    /// zero.
    ///
    /// `lone_slope` is the least slope beyond the last point, in nanoseconds per byte.
    pub fn new(points: &[LatencyPoint], lone_slope: f64) -> LatencyCurve {
        let points: Box<[(f64, f64)]> = points
            .iter()
            .map(|point| (f64::from(point.bytes), point.us.value * 1e3))
            .collect();
        let beyond = match *points {
            // More data never takes less time on the link.
            [.., (low, low_ns), (high, high_ns)] => {
                ((high_ns - low_ns) / (high - low)).max(lone_slope)
            }
            _ => lone_slope,
        };
        LatencyCurve { points, beyond }
    }

    /// Returns the mean service time in nanoseconds of a request of `bytes`.
    pub fn mean_ns(&self, bytes: u32) -> f64 {
        let bytes = f64::from(bytes);
        let next = self.points.partition_point(|&(at, _)| at < bytes);
        match (
            next.checked_sub(1).map(|i| self.points[i]),
            self.points.get(next),
        ) {
            (None, None) => 0.0,
            (None, Some(&(_, first_ns))) => first_ns,
            (Some((last, last_ns)), None) => last_ns + self.beyond * (bytes - last),
            (Some((low, low_ns)), Some(&(high, high_ns))) => {
                low_ns + (high_ns - low_ns) * (bytes - low) / (high - low)
            }
        }
    }

    /// Returns true if requests of all sizes take no time.
    pub fn is_zero(&self) -> bool {
        self.beyond == 0.0 && self.points.iter().all(|&(_, ns)| ns == 0.0)
    }
}

/// Bytes per second of the fastest link that a drive has: PCIe 6.0 x4, 64 GT/s on each of four lanes
/// (PCI Express Base Specification 6.0, section 4.2).
const FASTEST_LINK: f64 = 32e9;

/// Refuses a table that is empty or unsorted, or that is quicker than any link carries the data.
pub(crate) fn check(
    check: &FigureCheck<'_>,
    field: &str,
    points: &[LatencyPoint],
) -> Result<(), ProfileError> {
    check.rule(
        !points.is_empty(),
        field,
        "is empty: give at least one { bytes, us }",
    )?;
    for (i, point) in points.iter().enumerate() {
        check.rule(
            point.bytes > 0,
            &format!("{field}[{i}].bytes"),
            "must be more than 0",
        )?;
        check.inside(&format!("{field}[{i}].us"), &point.us, Range::SERVICE_US)?;
        let Some(before) = i.checked_sub(1).map(|i| &points[i]) else {
            continue;
        };
        check.rule(
            before.bytes < point.bytes,
            &format!("{field}[{i}].bytes"),
            "must be more than the row before it: sort the table by size",
        )?;
        // A drive that reads several channels at once may be quicker with a larger request, but no link transfers
        // the data in no time.
        let carried = f64::from(point.bytes) / FASTEST_LINK * 1e6;
        check.rule(
            before.us.value <= point.us.value || carried <= point.us.value,
            &format!("{field}[{i}].us"),
            &format!(
                "must be at least {carried:.3}, in which the fastest link of a drive (PCIe 6.0 x4, \
                 32 GB/s) carries so much, or not less than the row before it"
            ),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FigureKind;

    fn curve(points: &[(u32, f64)], lone_slope: f64) -> LatencyCurve {
        let figure = |value| Figure {
            value,
            kind: FigureKind::Guess,
            source: "a test".to_owned(),
            band: None,
        };
        let points: Vec<_> = points
            .iter()
            .map(|&(bytes, us)| LatencyPoint {
                bytes,
                us: figure(us),
            })
            .collect();
        LatencyCurve::new(&points, lone_slope)
    }

    #[test]
    fn the_curve_meets_its_points_and_runs_straight_between_them() {
        let curve = curve(&[(512, 5.0), (4096, 7.0), (8192, 9.0)], 0.0);
        for (bytes, ns) in [(512, 5e3), (4096, 7e3), (6144, 8e3), (8192, 9e3)] {
            assert_eq!(curve.mean_ns(bytes), ns, "at {bytes} bytes");
        }
    }

    #[test]
    fn the_last_line_goes_on_beyond_the_table() {
        assert_eq!(curve(&[(4096, 7.0), (8192, 9.0)], 0.0).mean_ns(16384), 13e3);
        assert_eq!(curve(&[(4096, 7.0)], 0.5).mean_ns(8192), 7e3 + 2048.0);
    }

    #[test]
    fn a_small_request_still_costs_a_command() {
        assert_eq!(curve(&[(4096, 7.0), (8192, 9.0)], 0.0).mean_ns(1), 7e3);
    }

    #[test]
    fn only_a_curve_that_never_leaves_zero_is_zero() {
        assert!(curve(&[(512, 0.0)], 0.0).is_zero());
        assert!(!curve(&[(512, 0.0)], 0.1).is_zero());
        assert!(!curve(&[(512, 0.0), (4096, 1.0)], 0.0).is_zero());
    }
}
