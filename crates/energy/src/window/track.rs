//! One meter through one window.

use super::WindowError;
use super::edge::EdgeResult;
use super::run::Run;
use crate::{About, Clock, Energy, Meter, MeterError, MeterKind, Reading};
use joulio_units::{MIN_WINDOW, Nanos};

/// A power meter is read at most this often.
const SHORTEST_PERIOD: Nanos = Nanos::from_millis(100);
/// Missed readings in a row that a power meter's integral outlives, and the time that it does on
/// a busy machine.
const MAX_MISSED: u64 = 10;
const MIN_LIMIT: Nanos = Nanos::from_millis(5_000);

/// A meter, and what it has shown since the window began.
#[derive(Debug)]
pub(super) struct Track {
    meter: Box<dyn Meter>,
    run: Option<Result<Run, WindowError>>,
    /// While an edge is taken: what was read meanwhile by the window's threads. It belongs behind
    /// the edge, which is not yet there.
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

    /// An edge is about to be taken; it ends with [`Track::begin`] or [`Track::lap`].
    pub(super) fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Begins at `edge`.
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
            // A counter's edge may lie behind it.
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
            MeterKind::Power { update, .. } => Some(update.max(SHORTEST_PERIOD)),
        }
    }

    /// The longest time allowed between two readings.
    fn limit(&self) -> Option<Nanos> {
        match self.kind() {
            MeterKind::Counter { wraps_after, .. } => wraps_after,
            MeterKind::Power { .. } => {
                let missed = Nanos(self.period()?.0.saturating_mul(MAX_MISSED));
                Some(missed.max(MIN_LIMIT))
            }
        }
    }

    /// Reads it in the middle of a window.
    pub(super) fn tick(&mut self, clock: &dyn Clock) {
        let limit = self.limit();
        let Some(Ok(run)) = &mut self.run else {
            return;
        };
        let read = self.meter.read(clock);
        if let Some(held) = &mut self.held {
            // An error is found again by the next.
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

    /// The energy up to `edge`, from where it begins anew; unless it was too short, when it goes
    /// on.
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
