//! A marker and a trace on one time line, and their correlation.

use super::seconds::seconds_between;
use super::{AlignError, Marker};
use crate::logger::PowerLog;
use joulio_units::Nanos;

/// Share of a marker's samples that must exist.
const MIN_SAMPLE_SHARE: f64 = 0.75;
/// Fewest samples of which a correlation is meaningful.
const MIN_SAMPLE_COUNT: usize = 8;
/// Longest marker in seconds: a longer one would take long to search for.
const MAX_MARKER_SECONDS: f64 = 3600.0;

/// The samples by the logger's clock, in seconds from the origin.
pub struct PowerTrace {
    pub samples: Vec<(f64, f64)>,
    /// Seconds between samples.
    pub interval: f64,
    /// Middle of the time that a sample covers, in seconds from its own time: a mean is of the interval before it, a
    /// momentary value could be from anywhere around it.
    centre: f64,
}

impl PowerTrace {
    pub fn new(log: &PowerLog, origin: Nanos) -> PowerTrace {
        let interval = log.interval.seconds();
        let samples = log.samples.iter();
        PowerTrace {
            samples: samples
                .map(|(at, watts)| (seconds_between(origin, *at), watts.0))
                .collect(),
            interval,
            centre: if log.averaged { -interval / 2.0 } else { 0.0 },
        }
    }

    /// Iterates over the samples between two times, with the middle of the time that each covers and its watts, by the
    /// machine's clock if the logger is `offset` ahead.
    pub fn between(&self, from: f64, to: f64, offset: f64) -> impl Iterator<Item = (f64, f64)> {
        let shift = self.centre - offset;
        let start = self.samples.partition_point(|(at, _)| at + shift < from);
        let rest = &self.samples[start..];
        let end = rest.partition_point(|(at, _)| at + shift < to);
        rest[..end]
            .iter()
            .map(move |(at, watts)| (at + shift, *watts))
    }
}

/// A marker by the machine's clock, in seconds from the origin.
pub struct MarkerPattern {
    /// Edges, rising and falling in turn.
    pub edges: Vec<f64>,
    /// Time spun before each edge.
    spun: Vec<f64>,
    /// Shortest time between edges.
    pub part: f64,
}

/// Agreement of a part of the trace with a marker.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// Pearson's correlation.
    pub correlation: f64,
    /// Watts of the idle machine.
    pub base: f64,
    /// Watts that spinning adds.
    pub step: f64,
}

impl MarkerPattern {
    /// Makes the pattern of `marker`, which is the `number`th, after checking it.
    pub fn new(
        marker: &Marker,
        number: usize,
        origin: Nanos,
        interval: f64,
    ) -> Result<MarkerPattern, AlignError> {
        let is_even = marker.edges.len().is_multiple_of(2) && !marker.edges.is_empty();
        let mut in_turn = marker.edges.iter().enumerate();
        if !is_even || !in_turn.all(|(at, edge)| edge.rising == (at % 2 == 0)) {
            return Err(AlignError::Marker(number));
        }
        let edges = marker.edges.iter().map(|edge| edge.realtime);
        let edges: Vec<_> = edges.map(|at| seconds_between(origin, at)).collect();
        let parts = || edges.windows(2).map(|pair| pair[1] - pair[0]);
        let part = parts().fold(f64::INFINITY, f64::min);
        if part <= 0.0 || edges[edges.len() - 1] - edges[0] > MAX_MARKER_SECONDS {
            return Err(AlignError::Marker(number));
        }
        let steady = marker.edges.windows(2);
        let steady = steady.map(|pair| seconds_between(pair[0].monotonic, pair[1].monotonic));
        let set = parts().zip(steady).map(|(part, steady)| part - steady);
        let by = set
            .max_by(|one, other| one.abs().total_cmp(&other.abs()))
            .unwrap_or(0.0);
        if by.abs() > interval / 4.0 {
            return Err(AlignError::ClockSet { marker: number, by });
        }
        if interval <= 0.0 || interval > part / 2.0 {
            return Err(AlignError::TooSlow { interval, part });
        }
        let mut spun = vec![0.0];
        for (at, part) in parts().enumerate() {
            spun.push(spun[at] + if at % 2 == 0 { part } else { 0.0 });
        }
        Ok(MarkerPattern { edges, spun, part })
    }

    /// Returns the first and the last time of the pattern, which includes the idle time around the edges.
    fn span(&self) -> (f64, f64) {
        (
            self.edges[0] - self.part,
            self.edges[self.edges.len() - 1] + self.part,
        )
    }

    /// Returns the middle of the marker.
    pub fn middle(&self) -> f64 {
        (self.edges[0] + self.edges[self.edges.len() - 1]) / 2.0
    }

    /// Returns the time spun before `time`.
    fn spun_before(&self, time: f64) -> f64 {
        let passed = self.edges.partition_point(|&edge| edge <= time);
        match passed.checked_sub(1) {
            None => 0.0,
            // The time is after a rising edge.
            Some(last) if last % 2 == 0 => self.spun[last] + (time - self.edges[last]),
            Some(last) => self.spun[last],
        }
    }

    /// Returns the share of the `width` seconds around `time` that was spun.
    fn level(&self, time: f64, width: f64) -> f64 {
        let spun = self.spun_before(time + width / 2.0) - self.spun_before(time - width / 2.0);
        spun / width
    }

    /// Computes the normalised cross-correlation with the trace of a logger that is `offset` ahead; `None` where
    /// samples are missing or do not vary.
    pub fn fit(&self, trace: &PowerTrace, offset: f64) -> Option<Fit> {
        let (from, to) = self.span();
        let width = trace.interval;
        let pairs = || {
            let samples = trace.between(from, to, offset);
            samples.map(|(time, watts)| (self.level(time, width), watts))
        };
        let mut sums = [0.0; 3];
        for (level, watts) in pairs() {
            for (sum, more) in sums.iter_mut().zip([1.0, level, watts]) {
                *sum += more;
            }
        }
        let [count, level_mean, watts_mean] = sums;
        if count < MIN_SAMPLE_SHARE * (to - from) / width || count < MIN_SAMPLE_COUNT as f64 {
            return None;
        }
        let (level_mean, watts_mean) = (level_mean / count, watts_mean / count);
        // Computed from the means, or the squares of a large base would hide a small step.
        let (mut levels, mut both, mut powers) = (0.0, 0.0, 0.0);
        for (level, watts) in pairs() {
            let (level, watts) = (level - level_mean, watts - watts_mean);
            levels += level * level;
            both += level * watts;
            powers += watts * watts;
        }
        let correlation = both / (levels * powers).sqrt();
        let step = both / levels;
        correlation.is_finite().then_some(Fit {
            correlation,
            base: watts_mean - step * level_mean,
            step,
        })
    }
}
