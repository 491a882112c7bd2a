//! The search for the offset at which the trace contains the markers.

use super::pattern::{MarkerPattern, PowerTrace};
use super::{AlignError, AlignmentLimits};

/// Steps of the first search per interval between samples.
const STEPS: f64 = 2.0;
/// Narrowings of the last search, nearly halvings: a step becomes a nanosecond.
const NARROWINGS: usize = 50;

/// A search for one offset, and a drift, that fits every marker.
pub struct Search<'a> {
    trace: &'a PowerTrace,
    patterns: &'a [MarkerPattern],
    limits: &'a AlignmentLimits,
    /// Seconds of a step.
    step: f64,
    /// Number of offsets, from the least to the largest.
    count: usize,
}

impl<'a> Search<'a> {
    pub fn new(
        trace: &'a PowerTrace,
        patterns: &'a [MarkerPattern],
        limits: &'a AlignmentLimits,
    ) -> Search<'a> {
        let step = trace.interval / STEPS;
        Search {
            trace,
            patterns,
            limits,
            step,
            count: 2 * (limits.offset.seconds() / step).ceil() as usize + 1,
        }
    }

    fn offset(&self, index: usize) -> f64 {
        (index as f64 - (self.count / 2) as f64) * self.step
    }

    /// Returns every marker's offset and correlation, and the best correlation elsewhere relative to the best.
    pub fn run(&self) -> Result<(Vec<(f64, f64)>, f64), AlignError> {
        let scores: Vec<Vec<f64>> = self.patterns.iter().map(|one| self.scores(one)).collect();
        let reaches: Vec<usize> = self.patterns.iter().map(|one| self.reach(one)).collect();
        let together: Vec<f64> = (0..self.count)
            .map(|index| {
                let each = scores.iter().zip(&reaches);
                each.map(|(scores, &reach)| scores[around(scores, index, reach)])
                    .sum()
            })
            .collect();
        let best = around(&together, self.count / 2, self.count);
        let mut offsets = Vec::with_capacity(self.patterns.len());
        for (at, pattern) in self.patterns.iter().enumerate() {
            let near = self.offset(around(&scores[at], best, reaches[at]));
            let (offset, correlation) = self.narrow(pattern, near);
            if correlation < self.limits.correlation {
                return Err(self.weak(at, correlation));
            }
            offsets.push((offset, correlation));
        }
        let (other, runner_up) = self.elsewhere(&together, best, &reaches);
        if runner_up > self.limits.runner_up {
            return Err(AlignError::Ambiguous {
                one: self.offset(best),
                other: self.offset(other),
                runner_up,
            });
        }
        Ok((offsets, runner_up))
    }

    fn weak(&self, at: usize, correlation: f64) -> AlignError {
        AlignError::Weak {
            marker: at + 1,
            correlation,
            min: self.limits.correlation,
        }
    }

    /// Computes the correlation at every offset; a place without samples counts as no agreement.
    fn scores(&self, pattern: &MarkerPattern) -> Vec<f64> {
        let offsets = (0..self.count).map(|index| self.offset(index));
        let fits = offsets.map(|offset| pattern.fit(self.trace, offset));
        fits.map(|fit| fit.map_or(0.0, |fit| fit.correlation.max(0.0)))
            .collect()
    }

    /// Returns the largest distance in steps between a marker's offset and the first marker's.
    fn reach(&self, pattern: &MarkerPattern) -> usize {
        let apart = pattern.middle() - self.patterns[0].middle();
        let drift = apart * self.limits.drift_ppm * 1e-6;
        if apart == 0.0 {
            0
        } else {
            // Each may be off by half a sample.
            ((drift + self.trace.interval) / self.step).ceil() as usize
        }
    }

    /// Returns the best score that is not near the best place.
    fn elsewhere(&self, together: &[f64], best: usize, reaches: &[usize]) -> (usize, f64) {
        // Within a part of a marker the correlation falls from its peak, and the difference allowed between markers
        // widens that.
        let part = self.patterns.iter().map(|one| one.part).fold(0.0, f64::max);
        let widest = reaches.iter().copied().max().unwrap_or(0);
        let near = (part / self.step).ceil() as usize + widest;
        let all = together.iter().enumerate();
        let far = all.filter(|(index, _)| index.abs_diff(best) > near);
        let other = far.max_by(|one, other| one.1.total_cmp(other.1));
        other.map_or((best, 0.0), |(index, score)| {
            (index, score / together[best])
        })
    }

    /// Finds the peak within a step of `near`: there is only one between its neighbours.
    fn narrow(&self, pattern: &MarkerPattern, near: f64) -> (f64, f64) {
        let fit = |offset| {
            pattern
                .fit(self.trace, offset)
                .map_or(0.0, |fit| fit.correlation)
        };
        let (mut low, mut high) = (near - self.step, near + self.step);
        for _ in 0..NARROWINGS {
            let third = (high - low) / 3.0;
            if fit(low + third) < fit(high - third) {
                low += third;
            } else {
                high -= third;
            }
        }
        let offset = (low + high) / 2.0;
        (offset, fit(offset))
    }
}

/// Returns the index of the best of `scores` within `reach` of `index`; the middle of several.
fn around(scores: &[f64], index: usize, reach: usize) -> usize {
    let from = index.saturating_sub(reach);
    let to = scores
        .len()
        .min(index.saturating_add(reach).saturating_add(1));
    let near = scores[from..to].iter().enumerate();
    let best = near.max_by(|one, other| one.1.total_cmp(other.1));
    best.map_or(index, |(at, _)| from + at)
}
