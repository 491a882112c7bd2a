//! The features that drive the power states: 02h Power Management and 0Ch Autonomous Power State Transition (Base
//! 5.27.1.2 and 5.27.1.10); and those that report the power drawn: 25h, log 25h and the SMART log.

mod interval;
mod measurement;
mod meter;
mod work;

pub(crate) use work::Worked;

use joulio_model::{DeviceProfile, PowerStates, Transition, Transitions};
use joulio_nvme_spec::feature::{ApstEntry, ApstTable, PowerManagement, PowerMeasurement};
use joulio_nvme_spec::log::{IntervalPower, PowerMeasurementLog};
use joulio_units::{Direction, Joules, Nanos};
use meter::Meter;
use zerocopy::FromZeros;

/// Use of a controller's power states since it was switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PowerUse {
    /// Power state that the controller is in, or changing to.
    pub state: u8,
    /// Time in each power state; they add up to the whole time. A transition's time counts as the shallower of its two
    /// states.
    pub residency: [Nanos; 32],
    /// Energy of these states if there had been no I/O: modelled, by the profile.
    pub idle_energy: Joules,
}

/// The power states of a controller, and the host's settings of them.
#[derive(Debug)]
pub(crate) struct Power {
    states: PowerStates,
    /// 02h: WH, which is stored and has no effect.
    workload_hint: u8,
    /// 0Ch: APSTE.
    autonomous: bool,
    /// 0Ch: the table.
    table: ApstTable,
    meter: Meter,
    /// Time at which the controller was last switched on or reset.
    fresh: Nanos,
}

impl Power {
    /// Makes the state of a controller that is switched on at `start`.
    pub(crate) fn new(profile: &DeviceProfile, start: Nanos) -> Power {
        Power {
            states: PowerStates::new(profile, start),
            workload_hint: 0,
            autonomous: false,
            table: ApstTable::new_zeroed(),
            meter: Meter::new(profile, start),
            fresh: start,
        }
    }

    /// Resets with the controller at `now`: no setting is saved across it.
    pub(crate) fn reset(&mut self, now: Nanos) {
        self.states.reset(now);
        self.workload_hint = 0;
        self.autonomous = false;
        self.table = ApstTable::new_zeroed();
        self.meter.operates_in(0);
        self.meter.measurement.reset();
        self.fresh = now;
    }

    /// Returns feature 02h: the power state by now, changed by the host or autonomously.
    pub(crate) fn management(&mut self, now: Nanos) -> PowerManagement {
        PowerManagement::new()
            .with_ps(self.states.current(now))
            .with_wh(self.workload_hint)
    }

    /// Sets feature 02h; the work until now, `worked`, belongs to the state before. Returns `false` when there is no
    /// such power state.
    pub(crate) fn manage(
        &mut self,
        requested: PowerManagement,
        now: Nanos,
        worked: Worked,
    ) -> bool {
        self.catch_up(now, worked);
        self.meter.close(now, worked, &self.states);
        let found = self.states.set(requested.ps(), now);
        if found {
            self.workload_hint = requested.wh();
            self.meter.operates_in(requested.ps());
        }
        found
    }

    /// Returns feature 0Ch: the table, and APSTE.
    pub(crate) fn transitions(&self) -> (&ApstTable, bool) {
        (&self.table, self.autonomous)
    }

    /// Sets feature 0Ch.
    pub(crate) fn set_transitions(&mut self, table: ApstTable, enabled: bool, now: Nanos) {
        self.table = table;
        self.autonomous = enabled;
        let off: Transitions = Default::default();
        let requested = table.entries.map(|entry| {
            let entry = ApstEntry::from(entry.get());
            Some(Transition {
                to: entry.itps(),
                after: Nanos::from_millis(entry.itpt().into()),
            })
        });
        self.states
            .apst(if enabled { &requested } else { &off }, now);
    }

    /// Begins an I/O: returns the time at which it can start, and the factor by which it takes longer.
    #[inline]
    pub(crate) fn work(&mut self, now: Nanos, direction: Direction) -> (Nanos, f64) {
        let start = self.states.submitted(now);
        (start, self.states.stretch(direction))
    }

    /// Records that every I/O so far is over by `at`.
    #[inline]
    pub(crate) fn idle_since(&mut self, at: Nanos) {
        self.states.idle_since(at);
    }

    /// Whether [`Power::catch_up`] must be called before an I/O that ends at `at` is counted.
    #[inline]
    pub(crate) fn is_due(&self, at: Nanos) -> bool {
        self.meter.is_due(at)
    }

    /// Meters up to `at`: `worked` is all the work since the controller was switched on, and it ended by the time that
    /// was due first.
    #[cold]
    pub(crate) fn catch_up(&mut self, at: Nanos, worked: Worked) {
        self.meter.pass(at, worked, &self.states);
    }

    /// Returns feature 25h: whether a measurement runs, and its settings.
    pub(crate) fn measuring(&self) -> PowerMeasurement {
        self.meter.measurement.feature()
    }

    /// Sets feature 25h at `now`, up to which power is metered. Returns `false` when there is no such action, or
    /// nothing that could be measured.
    pub(crate) fn measure(
        &mut self,
        requested: PowerMeasurement,
        now: Nanos,
        worked: Worked,
    ) -> bool {
        if requested.pmts() != PowerMeasurement::TOTAL {
            return false;
        }
        match requested.act() {
            PowerMeasurement::STOP => self.meter.measurement.stop(now),
            PowerMeasurement::START => {
                self.meter.close(now, worked, &self.states);
                self.meter.start(requested, now, &self.states);
            }
            _ => return false,
        }
        true
    }

    /// Returns log 25h at `now`, up to which power is metered.
    pub(crate) fn measured(&self, now: Nanos) -> PowerMeasurementLog {
        self.meter.measurement.log(now, self.fresh)
    }

    /// Returns the SMART log's interval power and watt-hours; power is metered up to now.
    pub(crate) fn drawn(&self) -> (IntervalPower, u64) {
        (self.meter.interval_power(), self.meter.watt_hours())
    }

    /// Returns the use until `now`.
    pub(crate) fn so_far(&self, now: Nanos) -> PowerUse {
        PowerUse {
            state: self.states.clone().current(now),
            residency: self.states.residency(now),
            idle_energy: self.states.idle_energy(now),
        }
    }
}
