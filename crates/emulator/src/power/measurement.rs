//! The measurement that feature 25h starts and log 25h reports: the mean power of every second
//! since.

use super::interval::{INTERVAL, reported};
use joulio_model::PowerStates;
use joulio_nvme_spec::feature::PowerMeasurement;
use joulio_nvme_spec::log::{PowerMeasurementAttributes, PowerMeasurementLog, Timestamp};
use joulio_units::{Joules, Nanos};
use zerocopy::FromZeros;
use zerocopy::little_endian::{U16, U32};

const MINUTE: u64 = 60_000_000_000;

/// A power measurement, of which there is one at a time.
#[derive(Debug)]
pub(super) struct Measurement {
    /// End of the interval under measurement; never, when there is no measurement.
    pub(super) edge: Nanos,
    /// Feature 25h, as the measurement was started.
    requested: PowerMeasurement,
    /// PMGN.
    generation: u8,
    /// Time at which the measurement stops by itself.
    stops: Nanos,
    stopped: Option<Nanos>,
    /// The energy at the latest edge.
    energy: Joules,
    intervals: u64,
    /// Energy of all intervals.
    total: Joules,
    /// Energy of the highest interval, and its end.
    max: (Joules, Nanos),
}

impl Default for Measurement {
    fn default() -> Measurement {
        Measurement {
            edge: Nanos::MAX,
            requested: PowerMeasurement::new(),
            generation: 0,
            stops: Nanos::MAX,
            stopped: None,
            energy: Joules::default(),
            intervals: 0,
            total: Joules::default(),
            max: (Joules::default(), Nanos::ZERO),
        }
    }
}

impl Measurement {
    /// Starts a measurement at `now` as `requested`, when the controller has used `energy`. Earlier results are
    /// dropped.
    pub(super) fn start(&mut self, requested: PowerMeasurement, now: Nanos, energy: Joules) {
        let limit = Nanos(u64::from(requested.smt()) * MINUTE);
        let endless = limit == Nanos::ZERO;
        *self = Measurement {
            edge: now + INTERVAL,
            requested,
            generation: self.generation.wrapping_add(1),
            stops: if endless { Nanos::MAX } else { now + limit },
            energy,
            ..Measurement::default()
        };
    }

    /// Stops the measurement at `now`, if one runs: the unfinished interval is not counted.
    pub(super) fn stop(&mut self, now: Nanos) {
        if self.is_running() {
            self.edge = Nanos::MAX;
            self.stopped = Some(now);
        }
    }

    /// Resets with the controller: no measurement runs, results are dropped. The count of starts is kept.
    pub(super) fn reset(&mut self) {
        *self = Measurement {
            generation: self.generation,
            ..Measurement::default()
        };
    }

    fn is_running(&self) -> bool {
        self.edge != Nanos::MAX
    }

    /// Returns feature 25h: ACT says whether a measurement runs.
    pub(super) fn feature(&self) -> PowerMeasurement {
        self.requested.with_act(self.is_running().into())
    }

    /// Counts the intervals that are over by `to`. `energy` returns the controller's energy up to a time; after the
    /// first interval the controller was idle.
    pub(super) fn pass(
        &mut self,
        to: Nanos,
        states: &PowerStates,
        energy: impl Fn(Nanos) -> Joules,
    ) {
        if self.edge > to {
            return;
        }
        self.take(1, energy(self.edge));
        let limit = to.min(self.stops);
        while self.edge <= limit {
            let left = limit.since(self.edge).0 / INTERVAL.0 + 1;
            let count = same(self.edge, left, states);
            self.take(count, energy(self.edge + Nanos((count - 1) * INTERVAL.0)));
        }
        if self.edge > self.stops {
            let stops = self.stops;
            self.stop(stops);
        }
    }

    /// Counts `intervals` of equal energy; the total is `energy` at the end of the last.
    fn take(&mut self, intervals: u64, energy: Joules) {
        let each = Joules((energy.0 - self.energy.0) / intervals as f64);
        // The first is remembered; rounding must not make the second the highest.
        if self.intervals == 0 || each.0 > self.max.0.0 * (1.0 + 1e-9) {
            self.max = (each, self.edge);
        }
        self.total += Joules(energy.0 - self.energy.0);
        self.energy = energy;
        self.intervals += intervals;
        self.edge += Nanos(intervals * INTERVAL.0);
    }

    /// Returns log 25h at `now`, of a controller that was reset at `reset`. There is no histogram.
    pub(super) fn log(&self, now: Nanos, reset: Nanos) -> PowerMeasurementLog {
        let mut log = PowerMeasurementLog::new_zeroed();
        let time = |at: Nanos| Timestamp::since_reset(at.since(reset).0 / 1_000_000);
        let attributes = PowerMeasurementAttributes::new()
            .with_enabled(self.is_running())
            .with_estimated(true)
            .with_maximum_timestamp(true);
        log.generation = self.generation;
        log.pma = U16::new(attributes.with_kind(self.requested.pmts()).into());
        log.size = U32::new(size_of::<PowerMeasurementLog>() as u32);
        log.count = U32::new(u32::try_from(self.intervals).unwrap_or(u32::MAX));
        log.histogram_bin_milliwatts = U16::new(PowerMeasurementLog::BIN_MILLIWATTS);
        log.percent_error = PowerMeasurementLog::NO_ERROR_KNOWN;
        if self.is_running() && self.stops != Nanos::MAX {
            let left = self.stops.since(now).0.div_ceil(MINUTE);
            log.minutes_left = U16::new(left as u16);
        }
        if let Some(stopped) = self.stopped {
            log.stopped = time(stopped);
        }
        if self.intervals > 0 {
            let whole = Nanos(self.intervals * INTERVAL.0);
            log.average_interval_power = U32::new(reported(self.total / whole).into());
            log.maximum_interval_power = U32::new(reported(self.max.0 / INTERVAL).into());
            log.maximum_at = time(self.max.1);
        }
        log
    }
}

/// Counts how many of `max` idle intervals, the first ending at `edge`, use the same energy: those spent in one power
/// state. At least one; `max` is halved until it holds. An idle time has few transitions, so that even years take few
/// steps.
fn same(edge: Nanos, max: u64, states: &PowerStates) -> u64 {
    let before = states.residency(Nanos(edge.0 - INTERVAL.0));
    let mut count = max;
    while count > 1 {
        let after = states.residency(edge + Nanos((count - 1) * INTERVAL.0));
        let changed = before.iter().zip(&after).filter(|(then, now)| then != now);
        if changed.count() <= 1 {
            break;
        }
        count /= 2;
    }
    count
}
