//! Confidence intervals of figures with unknown distributions, by resampling.

use super::{CONFIDENCE, Interval, quantile};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Parameters of the bootstrap: samples drawn with replacement from the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// Number of samples to draw.
    pub resamples: usize,
    /// Seed of the random draws.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Bootstrap {
        Bootstrap {
            resamples: 10_000,
            seed: 20,
        }
    }
}

impl Bootstrap {
    /// Returns `figure` of `values` with its 95 % percentile interval over samples drawn with replacement; `None` if
    /// there are fewer than two values.
    pub fn interval(self, values: &[f64], figure: impl Fn(&[f64]) -> f64) -> Option<Interval> {
        if values.len() < 2 {
            return None;
        }
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let mut drawn = vec![0.0; values.len()];
        let figures = (0..self.resamples.max(1)).map(|_| {
            for one in &mut drawn {
                *one = values[random.random_range(0..values.len())];
            }
            figure(&drawn)
        });
        let figures: Vec<f64> = figures.collect();
        let tail = (1.0 - CONFIDENCE) / 2.0;
        Some(Interval {
            value: figure(values),
            low: quantile(&figures, tail)?,
            high: quantile(&figures, 1.0 - tail)?,
        })
    }
}

/// Returns the quantile `q` of `values` with its 95 % bootstrap interval; `None` if there are fewer than two values.
pub fn quantile_interval(values: &[f64], q: f64) -> Option<Interval> {
    let figure = |values: &[f64]| quantile(values, q).unwrap_or(0.0);
    Bootstrap::default().interval(values, figure)
}
