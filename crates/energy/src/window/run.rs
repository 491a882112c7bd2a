//! The readings of a meter since its window began.

use super::WindowError;
use super::edge::Edge;
use crate::{About, Energy, How, MeterKind, MeterValue, Reading};
use joulio_units::{Joules, MIN_WINDOW, Nanos};

/// Readings of a window so far, added up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    start: Edge,
    last: Reading,
    /// Time of the last attempt, successful or not.
    tried: Nanos,
    joules: f64,
    power: Power,
    samples: u64,
    missed: u64,
    longest_gap: Nanos,
}

/// State of power readings.
#[derive(Clone, Copy, Debug)]
struct Power {
    /// Error bound of the trapezoids in joules, if power changed steadily between readings: half of each rise, times
    /// its duration.
    slack: f64,
    low: f64,
    high: f64,
}

impl Run {
    /// Begins at `start`.
    pub(super) fn new(start: Edge) -> Run {
        let watts = match start.reading.value {
            MeterValue::Power(watts) => watts.0,
            MeterValue::Total(_) => 0.0,
        };
        Run {
            start,
            last: start.reading,
            tried: start.reading.at,
            joules: 0.0,
            power: Power {
                slack: 0.0,
                low: watts,
                high: watts,
            },
            samples: 1,
            missed: 0,
            longest_gap: Nanos::ZERO,
        }
    }

    /// Time of the last attempt to read.
    pub(super) fn tried(&self) -> Nanos {
        self.tried
    }

    /// Time of the latest reading.
    pub(super) fn reached(&self) -> Nanos {
        self.last.at
    }

    /// Records that a reading began at `at` whose value comes later.
    pub(super) fn put_off(&mut self, at: Nanos) {
        self.tried = at;
    }

    /// Records a failed reading that the next may make up for.
    pub(super) fn miss(&mut self, at: Nanos) {
        self.tried = at;
        self.missed += 1;
    }

    /// Adds the energy up to `reading`; the time since the last one may be `limit` at most.
    pub(super) fn take(
        &mut self,
        reading: Reading,
        limit: Option<Nanos>,
    ) -> Result<(), WindowError> {
        if reading.at < self.last.at {
            return Err(WindowError::ClockWentBack {
                from: self.last.at,
                to: reading.at,
            });
        }
        let gap = reading.at.since(self.last.at);
        if let Some(limit) = limit
            && gap >= limit
        {
            return Err(WindowError::Unread { gap, limit });
        }
        match (self.last.value, reading.value) {
            (MeterValue::Total(from), MeterValue::Total(to)) => self.joules += to.0 - from.0,
            (MeterValue::Power(from), MeterValue::Power(to)) => {
                let seconds = gap.seconds();
                self.joules += (from.0 + to.0) / 2.0 * seconds;
                self.power.slack += (to.0 - from.0).abs() / 2.0 * seconds;
                self.power.low = self.power.low.min(to.0);
                self.power.high = self.power.high.max(to.0);
            }
            // A meter is either a counter or one of power.
            (MeterValue::Total(_), MeterValue::Power(_))
            | (MeterValue::Power(_), MeterValue::Total(_)) => {}
        }
        self.longest_gap = self.longest_gap.max(gap);
        self.samples += 1;
        self.last = reading;
        self.tried = reading.at;
        Ok(())
    }

    /// Returns the energy from the start to `end`, a reading that was added.
    pub(super) fn energy(&self, end: &Edge, about: &About) -> Result<Energy, WindowError> {
        let window = end.reading.at.since(self.start.reading.at);
        let needed = match about.kind {
            MeterKind::Counter { .. } => MIN_WINDOW,
            MeterKind::Power { update, .. } => MIN_WINDOW.max(update),
        };
        if window < needed {
            return Err(WindowError::TooShort { window, needed });
        }
        let (error, how) = match about.kind {
            MeterKind::Counter { step, .. } => self.counted(step, window, end),
            MeterKind::Power { step, update } => self.sampled((step * window).0, update),
        };
        Ok(Energy {
            boundary: about.zone.boundary,
            place: about.zone.place.clone(),
            source: about.name.clone(),
            modelled: about.modelled,
            idle_subtracted: false,
            joules: Joules(self.joules),
            error: Some(Joules(error)),
            band: None,
            window,
            how,
        })
    }

    /// Returns the error of a counter: at each edge less than a step is not counted yet, and its value is as old as the
    /// edge says.
    fn counted(&self, step: Joules, window: Nanos, end: &Edge) -> (f64, How) {
        let watts = self.joules / window.seconds();
        let stale = (self.start.within + end.within).seconds();
        let error = 2.0 * step.0 + watts * stale;
        let how = How::Counted {
            aligned: self.start.aligned && end.aligned,
            step,
        };
        (error, how)
    }

    /// Returns the error of power readings: half of the rounding of each, the trapezoids, and at each edge a value that
    /// is as old as the sensor's update, when power was anything seen in the window.
    fn sampled(&self, step_joules: f64, update: Nanos) -> (f64, How) {
        let span = self.power.high - self.power.low;
        let error = step_joules / 2.0 + self.power.slack + 2.0 * span * update.seconds();
        let how = How::Sampled {
            samples: self.samples,
            missed: self.missed,
            longest_gap: self.longest_gap,
        };
        (error, how)
    }
}
