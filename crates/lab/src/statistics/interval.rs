//! 95 % interval of repeated measurements.

use super::{CONFIDENCE, mean, student, variance};
use serde::Serialize;

/// A mean, and the ends of the 95 % interval that it lies in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Mean of the repetitions.
    pub value: f64,
    /// Lower end; `null` in JSON: unknown, as of one repetition.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub low: f64,
    /// Upper end; `null` in JSON: unknown, as of one repetition.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub high: f64,
}

impl Interval {
    /// Computes the interval of `repetitions`, each with a meter's error of up to `error`: the whole error is added on
    /// either side, because it may be the same in all repetitions. For a single repetition the interval is unknown.
    pub fn of(repetitions: &[f64], error: f64) -> Interval {
        let n = repetitions.len() as f64;
        if n < 2.0 {
            return Interval::around(mean(repetitions), f64::INFINITY);
        }
        let of_the_mean = (variance(repetitions) / n).sqrt();
        let half = student::quantile(n - 1.0, CONFIDENCE) * of_the_mean;
        Interval::around(mean(repetitions), half + error)
    }

    /// Creates the interval with half the width `half` around `value`.
    pub fn around(value: f64, half: f64) -> Interval {
        Interval {
            value,
            low: value - half,
            high: value + half,
        }
    }

    /// Returns half of the width.
    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Returns true if the whole interval is above zero, so that the value is significantly positive.
    pub fn is_above_zero(&self) -> bool {
        self.low > 0.0
    }

    /// Returns the interval multiplied by `factor`.
    pub fn times(&self, factor: f64) -> Interval {
        Interval::around(self.value * factor, self.half() * factor.abs())
    }

    /// Returns the sum of two intervals; their widths add, because both may be off in the same direction.
    pub fn plus(&self, other: &Interval) -> Interval {
        Interval::around(self.value + other.value, self.half() + other.half())
    }

    /// Returns the difference of two intervals; their widths add as in [`Interval::plus`].
    pub fn minus(&self, other: &Interval) -> Interval {
        self.plus(&other.times(-1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        // Mean 3 and variance 2.5 of five values: 2.776 x sqrt(2.5 / 5).
        let interval = Interval::of(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.0);
        assert!((interval.value - 3.0).abs() < 1e-12);
        assert!((interval.half() - 2.776_445 * 0.5f64.sqrt()).abs() < 1e-6);
        let wider = Interval::of(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.25);
        assert!((wider.half() - interval.half() - 0.25).abs() < 1e-9);
        assert!(interval.is_above_zero() && !Interval::of(&[1.0], 0.0).is_above_zero());
    }

    #[test]
    fn widths_add_whatever_the_sign() {
        let (one, other) = (Interval::around(3.0, 0.5), Interval::around(1.0, 0.25));
        assert_eq!(one.minus(&other), Interval::around(2.0, 0.75));
        assert_eq!(one.times(-2.0), Interval::around(-6.0, 1.0));
    }
}
