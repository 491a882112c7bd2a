//! The offset of two clocks over time.

use super::FoundMarker;
use super::pattern::MarkerPattern;

/// The offset over time: a least-squares line through the markers found.
pub(super) struct Line {
    pub(super) middle: f64,
    pub(super) offset: f64,
    pub(super) slope: f64,
}

impl Line {
    pub(super) fn through(patterns: &[MarkerPattern], found: &[FoundMarker]) -> Line {
        let count = found.len() as f64;
        let times = patterns.iter().map(MarkerPattern::middle);
        let middle = times.clone().sum::<f64>() / count;
        let offset = found.iter().map(|found| found.offset).sum::<f64>() / count;
        let spread: f64 = times.clone().map(|time| (time - middle).powi(2)).sum();
        let both = times.zip(found);
        let common: f64 = both
            .map(|(time, found)| (time - middle) * (found.offset - offset))
            .sum();
        let slope = if spread > 0.0 { common / spread } else { 0.0 };
        Line {
            middle,
            offset,
            slope,
        }
    }

    pub(super) fn at(&self, time: f64) -> f64 {
        self.offset + self.slope * (time - self.middle)
    }
}
