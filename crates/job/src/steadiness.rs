//! Steadiness of a run's rate.

use serde::{Deserialize, Serialize};

/// Steadiness of a run's rate over equal intervals of its measured part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Steadiness {
    /// Number of intervals, at least [`Steadiness::MIN_INTERVALS`].
    pub intervals: usize,
    /// Percent of the mean by which the straight line through the rates rises from the first interval to
    /// the last.
    pub slope_percent: f64,
    /// Percent of the mean between the lowest and the highest rate.
    pub spread_percent: f64,
}

impl Steadiness {
    /// Least number of intervals that are judged: SNIA's measurement window has five rounds.
    pub const MIN_INTERVALS: usize = 5;

    /// Returns the slope of the straight line through `rates`, per interval; 0 for fewer than two rates.
    pub(crate) fn slope(rates: &[f64]) -> f64 {
        let n = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / n;
        let middle = (n - 1.0) / 2.0;
        let places = || (0..rates.len()).map(|at| at as f64 - middle);
        let products = places().zip(rates).map(|(x, y)| x * (y - mean));
        let squares: f64 = places().map(|x| x * x).sum();
        match squares > 0.0 {
            true => products.sum::<f64>() / squares,
            false => 0.0,
        }
    }

    /// Returns the steadiness of `rates`, one per interval; `None` if there are too few, or no I/O was done.
    pub fn of(rates: &[f64]) -> Option<Steadiness> {
        let n = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / n;
        if rates.len() < Steadiness::MIN_INTERVALS || mean <= 0.0 {
            return None;
        }
        let slope = Steadiness::slope(rates);
        let ends = rates
            .iter()
            .fold((f64::MAX, f64::MIN), |(low, high), rate| {
                (low.min(*rate), high.max(*rate))
            });
        Some(Steadiness {
            intervals: rates.len(),
            slope_percent: slope * (n - 1.0) / mean * 100.0,
            spread_percent: (ends.1 - ends.0) / mean * 100.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_that_of_the_line_and_the_spread_that_of_the_ends() {
        let rising = Steadiness::of(&[90.0, 95.0, 100.0, 105.0, 110.0]).unwrap();
        assert!((rising.slope_percent - 20.0).abs() < 1e-9);
        assert!((rising.spread_percent - 20.0).abs() < 1e-9);
        let wild = Steadiness::of(&[100.0, 140.0, 60.0, 140.0, 60.0, 100.0]).unwrap();
        assert!(wild.slope_percent.abs() < 40.0 && (wild.spread_percent - 80.0).abs() < 1e-9);
        let still = Steadiness::of(&[7.0; 8]).unwrap();
        assert_eq!((still.slope_percent, still.spread_percent), (0.0, 0.0));
        assert_eq!(Steadiness::of(&[1.0; 4]), None);
        assert_eq!(Steadiness::of(&[0.0; 9]), None);
    }
}
