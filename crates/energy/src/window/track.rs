//! One meter during one window.

use super::WindowError;
use super::edge::EdgeResult;
use super::run::Run;
use crate::{About, Clock, Energy, Meter, MeterError, MeterKind, Reading};
use joulio_units::{MIN_WINDOW, Nanos};

/// Least time between two readings of a power meter.
const MIN_READING_PERIOD: Nanos = Nanos::from_millis(100);
/// Missed readings in a row that a power meter's integral tolerates, as happens on a busy machine.
const MAX_MISSED: u64 = 10;
const MIN_LIMIT: Nanos = Nanos::from_millis(5_000);

/// A meter, and its readings since the window began.
#[derive(Debug)]
pub(super) struct Track {
    meter: Box<dyn Meter>,
    run: Option<Result<Run, WindowError>>,
    /// Readings of the window's threads while an edge is being read. They come after the edge, which is not there yet.
    held: Option<Vec<Reading>>,
}

impl Track {
    pub(super) fn new(meter: Box<dyn Meter>) -> Track {
        Track {
            meter,
            run: None,
            held: None,
        }
    }

    pub(super) fn about(&self) -> About {
        self.meter.about().clone()
    }

    pub(super) fn kind(&self) -> MeterKind {
        self.meter.about().kind
    }

    pub(super) fn slow(&self) -> bool {
        self.meter.about().slow
    }

    pub(super) fn read(&mut self, clock: &dyn Clock) -> Result<Reading, MeterError> {
        self.meter.read(clock)
    }

    /// Holds readings back while an edge is read; ends with [`Track::begin`] or [`Track::lap`].
    pub(super) fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Begins the window at `edge`.
    pub(super) fn begin(&mut self, edge: EdgeResult) {
        self.run = Some(edge.map(Run::new));
        self.release();
    }

    /// Adds the readings that were held.
    fn release(&mut self) {
        let limit = self.limit();
        for reading in self.held.take().unwrap_or_default() {
            let Some(Ok(run)) = &mut self.run else {
                return;
            };
            // A counter's edge may be after it.
            if run.reached() < reading.at
                && let Err(error) = run.take(reading, limit)
            {
                self.run = Some(Err(error));
            }
        }
    }

    /// Time at which it has to be read next; `None`: not before the end.
    pub(super) fn due(&self) -> Option<Nanos> {
        let run = self.run.as_ref()?.as_ref().ok()?;
        Some(run.tried() + self.period()?)
    }

    fn period(&self) -> Option<Nanos> {
        match self.kind() {
            MeterKind::Counter { wraps_after, .. } => Some(Nanos(wraps_after?.0 / 2)),
            MeterKind::Power { update, .. } => Some(update.max(MIN_READING_PERIOD)),
        }
    }

    /// Returns the longest time allowed between two readings.
    fn limit(&self) -> Option<Nanos> {
        match self.kind() {
            MeterKind::Counter { wraps_after, .. } => wraps_after,
            MeterKind::Power { .. } => {
                let missed = Nanos(self.period()?.0.saturating_mul(MAX_MISSED));
                Some(missed.max(MIN_LIMIT))
            }
        }
    }

    /// Reads the meter during a window.
    pub(super) fn tick(&mut self, clock: &dyn Clock) {
        let limit = self.limit();
        let Some(Ok(run)) = &mut self.run else {
            return;
        };
        let read = self.meter.read(clock);
        if let Some(held) = &mut self.held {
            // The next reading finds an error again.
            held.extend(read.ok());
            run.put_off(clock.now());
            return;
        }
        let taken = match read {
            Ok(reading) => run.take(reading, limit),
            Err(error) if error.is_passing() => {
                run.miss(clock.now());
                Ok(())
            }
            Err(error) => Err(error.into()),
        };
        if let Err(error) = taken {
            self.run = Some(Err(error));
        }
    }

    /// Returns the energy up to `edge`, at which the next lap begins; if the lap was too short, it continues.
    pub(super) fn lap(&mut self, edge: EdgeResult) -> Result<Energy, WindowError> {
        let limit = self.limit();
        let result = match (self.run.take(), edge.clone()) {
            (Some(Ok(mut run)), Ok(end)) => match run.take(end.reading, limit) {
                Ok(()) => {
                    let energy = run.energy(&end, self.meter.about());
                    if let Err(WindowError::TooShort { .. }) = energy {
                        self.run = Some(Ok(run));
                        self.release();
                        return energy;
                    }
                    energy
                }
                Err(error) => Err(error),
            },
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (None, Ok(end)) => Err(WindowError::TooShort {
                window: Nanos::ZERO,
                needed: MIN_WINDOW.max(end.within),
            }),
        };
        self.begin(edge);
        result
    }
}
