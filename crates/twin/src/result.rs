//! What a run in virtual time was.

use crate::Times;
use hdrhistogram::Histogram;
use joulio_energy::Energy;
use joulio_model::{EnergyParts, PastTdp, Transfer};
use joulio_units::Nanos;
use joulio_wait::Counters;

/// A minute: what is longer counts as that. As in a real run.
const LONGEST: u64 = 60_000_000_000;

/// I/Os of one direction in the measured part.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// I/Os that completed.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their latencies in nanoseconds, to three significant digits.
    pub latency: Histogram<u64>,
    /// The sum of the latencies, exactly.
    pub total: Nanos,
}

impl Side {
    pub(crate) fn new() -> Side {
        Side {
            ios: 0,
            bytes: 0,
            latency: Histogram::new_with_bounds(1, LONGEST, 3).expect("bounds are constants"),
            total: Nanos::ZERO,
        }
    }

    #[inline]
    pub(crate) fn done(&mut self, latency: Nanos, bytes: u32) {
        self.ios += 1;
        self.bytes += u64::from(bytes);
        self.total += latency;
        self.latency.saturating_record(latency.0);
    }

    pub(crate) fn add(&mut self, other: &Side) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.total += other.total;
        self.latency.add(&other.latency).expect("equal bounds");
    }

    /// The mean latency in nanoseconds; `None` when there was no I/O.
    pub fn mean(&self) -> Option<f64> {
        (self.ios > 0).then(|| self.total.0 as f64 / self.ios as f64)
    }
}

/// What one device did in the window.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceResult {
    /// Its profile's name.
    pub name: String,
    /// I/Os that it took in the window; service times are the profile's means.
    pub read: Transfer,
    /// The same of writes.
    pub write: Transfer,
}

/// The result of a run: everything in it is modelled.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// The machine's profile.
    pub machine: String,
    /// The devices.
    pub devices: Vec<DeviceResult>,
    /// The policy's name.
    pub policy: String,
    /// How many jobs there were.
    pub jobs: usize,
    /// From the end of the ramp to the last job's end.
    pub window: Nanos,
    /// Reads.
    pub read: Side,
    /// Writes.
    pub write: Side,
    /// What waiting did, all jobs together, as a real run counts it.
    pub counters: Counters,
    /// The time of each hardware thread that has a job, by its number.
    pub cpus: Vec<(usize, Times)>,
    /// The same of their physical cores, which is what energy is counted for.
    pub cores: Vec<Times>,
    /// How often a job had its CPU taken for another.
    pub preempted: u64,
    /// Arrivals of an open loop that were due before the end and never issued.
    pub unissued: u64,
    /// The joules, with the band of the profiles' figures.
    pub energy: Energy,
    /// The same by where they went.
    pub parts: EnergyParts,
    /// The package drew more than it is sold to draw, as the profile has both.
    pub past_tdp: Option<PastTdp>,
}

impl Simulated {
    /// I/Os of both directions.
    pub fn ios(&self) -> u64 {
        self.read.ios + self.write.ios
    }

    /// I/Os a second.
    pub fn iops(&self) -> f64 {
        match self.window {
            Nanos::ZERO => 0.0,
            window => self.ios() as f64 / window.seconds(),
        }
    }

    /// Reads and writes together.
    pub fn all(&self) -> Side {
        let mut all = self.read.clone();
        all.add(&self.write);
        all
    }

    /// CPU time of an I/O in nanoseconds: all instructions, handlers and the scheduler's included.
    pub fn cpu_per_io(&self) -> Option<f64> {
        self.per_io(Times::busy)
    }

    /// The part of it that a system's accounts show: without what runs in the idle task's name.
    pub fn charged_per_io(&self) -> Option<f64> {
        self.per_io(Times::charged)
    }

    fn per_io(&self, part: fn(&Times) -> Nanos) -> Option<f64> {
        let sum: u64 = self.cpus.iter().map(|(_, times)| part(times).0).sum();
        (self.ios() > 0).then(|| sum as f64 / self.ios() as f64)
    }
}
