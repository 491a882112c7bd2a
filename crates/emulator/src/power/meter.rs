//! The power meter inside a controller: its power by its profile, as the SMART log and log 25h report it.
//!
//! It needs no timer and no thread. Energy is summed up at edges, every [`SAMPLE`] and every second of a measurement,
//! when the controller next does something after the edge; while it is idle, its power follows from its power states
//! alone, however long that lasts.

use super::interval::{INTERVAL, reported};
use super::measurement::Measurement;
use super::work::{Worked, Working};
use joulio_model::{DeviceProfile, PowerStates};
use joulio_nvme_spec::feature::PowerMeasurement;
use joulio_nvme_spec::log::IntervalPower;
use joulio_units::{Joules, Nanos};
use std::collections::VecDeque;

/// Sampling interval. It is not reported (IPMSR is 0); the figure is a mean of the samples.
const SAMPLE: Nanos = Nanos::from_millis(10);
/// Samples of an interval, with the one at its beginning.
const SAMPLES: usize = (INTERVAL.0 / SAMPLE.0) as usize + 1;

/// The power meter of a controller.
#[derive(Debug)]
pub(super) struct Meter {
    working: Working,
    /// Energy of finished work, beyond the controller's idle energy.
    spent: Joules,
    /// The work that used that energy.
    worked: Worked,
    /// Time up to which the work is accounted for.
    closed: Nanos,
    /// The energy since the controller was switched on, at the latest samples.
    samples: VecDeque<(Nanos, Joules)>,
    /// Time of the next sample.
    next_sample: Nanos,
    pub(super) measurement: Measurement,
}

impl Meter {
    /// Makes the meter of a controller that is switched on at `start`.
    pub(super) fn new(profile: &DeviceProfile, start: Nanos) -> Meter {
        Meter {
            working: Working::new(profile),
            spent: Joules::default(),
            worked: Worked::default(),
            closed: start,
            samples: VecDeque::from([(start, Joules::default())]),
            next_sample: start + SAMPLE,
            measurement: Measurement::default(),
        }
    }

    /// Whether an edge lies before `at`: then [`Meter::pass`] must be called before an I/O that ends at `at` is
    /// counted.
    #[inline]
    pub(super) fn is_due(&self, at: Nanos) -> bool {
        at > self.edge()
    }

    #[inline]
    fn edge(&self) -> Nanos {
        self.next_sample.min(self.measurement.edge)
    }

    /// Passes the edges up to `to`. `worked` was all the work since the controller was switched on at the first of
    /// them, after which there was none.
    #[cold]
    pub(super) fn pass(&mut self, to: Nanos, worked: Worked, states: &PowerStates) {
        let first = self.edge();
        if first > to {
            return;
        }
        self.close(first, worked, states);
        let energy = |at: Nanos| states.idle_energy(at) + self.spent;
        self.measurement.pass(to, states, energy);
        // Of a long idle time only the latest interval is needed.
        let further = to.since(self.next_sample).0 / SAMPLE.0;
        let skipped = (further + 1).saturating_sub(SAMPLES as u64);
        self.next_sample += Nanos(skipped * SAMPLE.0);
        while self.next_sample <= to {
            let at = self.next_sample;
            if self.samples.len() == SAMPLES {
                self.samples.pop_front();
            }
            self.samples.push_back((at, energy(at)));
            self.next_sample = at + SAMPLE;
        }
    }

    /// Accounts for all work until `at`, where edges are passed up to it.
    pub(super) fn close(&mut self, at: Nanos, worked: Worked, states: &PowerStates) {
        let window = at.since(self.closed);
        let more = worked.since(&self.worked);
        self.spent += self.working.energy(window, &more, states);
        self.worked = worked;
        self.closed = at;
    }

    /// Starts a measurement at `at`, up to which all work is accounted for.
    pub(super) fn start(&mut self, requested: PowerMeasurement, at: Nanos, states: &PowerStates) {
        let energy = states.idle_energy(at) + self.spent;
        self.measurement.start(requested, at, energy);
    }

    /// Sets the power state `ps` that the host has requested.
    pub(super) fn operates_in(&mut self, ps: u8) {
        self.working.operates_in(ps);
    }

    /// Returns the mean power of the latest second, or since the controller was switched on if that is less; not
    /// reported before the first sample.
    pub(super) fn interval_power(&self) -> IntervalPower {
        let ends = self.samples.front().zip(self.samples.back());
        match ends {
            Some((&(from, before), &(to, after))) if to > from => {
                reported(Joules(after.0 - before.0) / to.since(from))
            }
            _ => IntervalPower::new(),
        }
    }

    /// Returns the watt-hours since the controller was switched on, rounded up.
    pub(super) fn watt_hours(&self) -> u64 {
        let energy = self.samples.back().map_or(0.0, |&(_, energy)| energy.0);
        (energy / 3_600.0).ceil() as u64
    }
}
