//! The features that drive the power states: 02h Power Management and 0Ch Autonomous Power State
//! Transition (Base 5.27.1.2 and 5.27.1.10); and those that report what it draws: 25h, log 25h and
//! the SMART log.

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

/// The use that a controller made of its power states since it was switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PowerUse {
    /// The power state that it is in, or on its way to.
    pub state: u8,
    /// Time in each power state, together the whole time. The time of a transition counts to the
    /// shallower of its two states.
    pub residency: [Nanos; 32],
    /// Energy of these states had there been no I/O: modelled, by the profile.
    pub idle_energy: Joules,
}

/// The power states of a controller, and what its host requested of them.
#[derive(Debug)]
pub(crate) struct Power {
    states: PowerStates,
    /// 02h: WH, which is kept and changes nothing.
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
    /// Power states of a controller that is switched on at `start`.
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

    /// A controller reset at `now`: nothing is saved across it.
    pub(crate) fn reset(&mut self, now: Nanos) {
        self.states.reset(now);
        self.workload_hint = 0;
        self.autonomous = false;
        self.table = ApstTable::new_zeroed();
        self.meter.operates_in(0);
        self.meter.measurement.reset();
        self.fresh = now;
    }

    /// 02h: the state that it is in by now, by itself or by the host.
    pub(crate) fn management(&mut self, now: Nanos) -> PowerManagement {
        PowerManagement::new()
            .with_ps(self.states.current(now))
            .with_wh(self.workload_hint)
    }

    /// Sets 02h, to which all that was `worked` belongs to the state before; `false`: there is no
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

    /// 0Ch: the table, and APSTE.
    pub(crate) fn transitions(&self) -> (&ApstTable, bool) {
        (&self.table, self.autonomous)
    }

    /// Sets 0Ch.
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

    /// An I/O comes: when it can start, and how many times as long it takes.
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

    /// Meters up to `at`: `worked` is all the work since it was switched on, and ended by the time
    /// that was due first.
    #[cold]
    pub(crate) fn catch_up(&mut self, at: Nanos, worked: Worked) {
        self.meter.pass(at, worked, &self.states);
    }

    /// Value of feature 25h: whether it is measuring, and what was requested.
    pub(crate) fn measuring(&self) -> PowerMeasurement {
        self.meter.measurement.feature()
    }

    /// Sets 25h at `now`, up to which it is metered; `false`: no such action, or nothing that it
    /// could measure.
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

    /// Log 25h at `now`, up to which it is metered.
    pub(crate) fn measured(&self, now: Nanos) -> PowerMeasurementLog {
        self.meter.measurement.log(now, self.fresh)
    }

    /// The SMART log's interval power and watt-hours, where it is metered up to now.
    pub(crate) fn drawn(&self) -> (IntervalPower, u64) {
        (self.meter.interval_power(), self.meter.watt_hours())
    }

    /// The use until `now`.
    pub(crate) fn so_far(&self, now: Nanos) -> PowerUse {
        PowerUse {
            state: self.states.clone().current(now),
            residency: self.states.residency(now),
            idle_energy: self.states.idle_energy(now),
        }
    }
}
