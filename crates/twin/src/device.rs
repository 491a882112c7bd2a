//! A device: when its I/Os finish, and what it did.

use joulio_job::{IoStatistics, Load};
use joulio_model::{
    DeviceActivity, DeviceProfile, Link, PowerStates, ServiceModel, TransferTotals,
};
use joulio_units::{Direction, Joules, Nanos};

/// A modelled device in virtual time, in power state 0: no other state is requested, and it makes no transitions
/// when idle.
#[derive(Clone, Debug)]
pub(crate) struct Device<'a> {
    pub(crate) profile: &'a DeviceProfile,
    service: ServiceModel,
    loads: Vec<LoadParts>,
    /// Reads and writes that were issued in the measured part and have completed.
    pub(crate) completed: [IoStatistics; 2],
    /// Start of the measured part: earlier I/Os are not counted.
    from: Nanos,
    /// Time of the latest submission.
    latest: Nanos,
    /// Time at which the scheduler's lock, which the device's queues share, becomes free.
    unlocked: Nanos,
}

/// Directions by their index: reads are 0, writes 1.
const DIRECTIONS: [Direction; 2] = [Direction::Read, Direction::Write];

/// The I/Os of a load, split into parts as the kernel splits them where a device does not transfer an I/O at once.
#[derive(Clone, Copy, Debug)]
struct LoadParts {
    /// Bytes of an I/O.
    bytes: u32,
    /// Bytes of a part; the last may be shorter.
    part: u32,
    /// Mean service times of all parts of an I/O, for reads and for writes.
    means: [Nanos; 2],
    /// Number of reads and writes in the measured part.
    ios: [u64; 2],
}

/// Returns the number of parts into which an I/O of `bytes` is split for `profile`.
pub(crate) fn parts(profile: &DeviceProfile, bytes: u32) -> u32 {
    bytes.div_ceil(profile.max_transfer().max(1)).max(1)
}

impl<'a> Device<'a> {
    pub(crate) fn new(
        profile: &'a DeviceProfile,
        link: Option<&Link>,
        loads: &[Load],
        from: Nanos,
        seed: u64,
    ) -> Self {
        let service = ServiceModel::on_link(profile, seed, link);
        let of_load = |load: &Load| {
            let part = load.bs.min(profile.max_transfer().max(1));
            LoadParts {
                bytes: load.bs,
                part,
                means: DIRECTIONS.map(|direction| {
                    let whole = service.mean(direction, part).0;
                    let whole = Nanos(whole.saturating_mul(u64::from(load.bs / part)));
                    match load.bs % part {
                        0 => whole,
                        rest => whole + service.mean(direction, rest),
                    }
                }),
                ios: [0, 0],
            }
        };
        Device {
            profile,
            loads: loads.iter().map(of_load).collect(),
            completed: [IoStatistics::new(), IoStatistics::new()],
            service,
            from,
            latest: Nanos::ZERO,
            unlocked: Nanos::ZERO,
        }
    }

    /// Waits from `at` until the scheduler's lock is free and holds it for `time`; returns the time of its release.
    pub(crate) fn lock(&mut self, at: Nanos, time: Nanos) -> Nanos {
        self.unlocked = self.unlocked.max(at) + time;
        self.unlocked
    }

    /// Submits a read (`side` 0) or a write (1) of load number `load` at `at`; returns the time at which it
    /// finishes.
    #[inline]
    pub(crate) fn submit(&mut self, at: Nanos, side: usize, load: usize) -> Nanos {
        debug_assert!(at >= self.latest, "time runs back at the device");
        self.latest = at;
        let load = &mut self.loads[load];
        load.ios[side] += u64::from(at >= self.from);
        let finish = self.service.start(at, DIRECTIONS[side], load.part);
        if load.part == load.bytes {
            return finish;
        }
        let LoadParts { bytes, part, .. } = *load;
        self.submit_rest(at, side, (bytes - part, part)).max(finish)
    }

    /// Submits the remaining parts of an I/O; returns the time at which all of it is finished.
    #[cold]
    fn submit_rest(&mut self, at: Nanos, side: usize, (mut left, part): (u32, u32)) -> Nanos {
        let mut finish = at;
        while left > 0 {
            let bytes = left.min(part);
            finish = finish.max(self.service.start(at, DIRECTIONS[side], bytes));
            left -= bytes;
        }
        finish
    }

    /// Returns the activity of the device in the measured part until `end`.
    pub(crate) fn activity(&self, end: Nanos) -> DeviceActivity {
        let power = PowerStates::new(self.profile, Nanos::ZERO);
        let before = power.idle_energy(self.from.min(end));
        let [read, write] = self.done();
        DeviceActivity {
            window: end.since(self.from),
            read,
            write,
            idle: Some(Joules(power.idle_energy(end).0 - before.0)),
        }
    }

    /// Returns the commands and bytes of each direction.
    pub(crate) fn done(&self) -> [TransferTotals; 2] {
        [0, 1].map(|side| {
            let mut sum = TransferTotals::default();
            for load in &self.loads {
                let ios = load.ios[side];
                sum.ios += ios * u64::from(load.bytes.div_ceil(load.part));
                sum.bytes += ios * u64::from(load.bytes);
                sum.service += Nanos(load.means[side].0.saturating_mul(ios));
            }
            sum
        })
    }
}
