//! A device: when it finishes, and what it did.

use joulio_job::Load;
use joulio_model::{DeviceActivity, DeviceProfile, Link, PowerStates, ServiceModel, Transfer};
use joulio_units::{Direction, Joules, Nanos};

/// A modelled device in virtual time.
#[derive(Clone, Debug)]
pub(crate) struct Device<'a> {
    pub(crate) profile: &'a DeviceProfile,
    service: ServiceModel,
    power: PowerStates,
    /// I/Os of each load.
    loads: Vec<LoadParts>,
    /// Start of the measured part: what is before it counts for nothing.
    from: Nanos,
    /// Energy that the device would have drawn idle until `from`; none until an I/O comes in the
    /// measured part.
    before: Option<Joules>,
    activity: DeviceActivity,
    /// The latest submission.
    latest: Nanos,
    /// When the lock of its queues' scheduler falls free.
    unlocked: Nanos,
}

/// The parts that an I/O goes out in, as the kernel splits what a device does not transfer at once.
#[derive(Clone, Copy, Debug)]
struct LoadParts {
    /// Bytes of the I/O.
    bytes: u32,
    /// Bytes of a part; the last may be shorter.
    part: u32,
    /// Mean service times of a whole part, of reads and writes.
    means: [Nanos; 2],
}

/// Number of parts in which `profile` is given an I/O of so many `bytes`.
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
        let means = |bytes| [Direction::Read, Direction::Write].map(|d| service.mean(d, bytes));
        let of_load = |bytes: u32| {
            let part = bytes.min(profile.max_transfer().max(1));
            LoadParts {
                bytes,
                part,
                means: means(part),
            }
        };
        Device {
            profile,
            power: PowerStates::new(profile, Nanos::ZERO),
            loads: loads.iter().map(|load| of_load(load.bs)).collect(),
            service,
            from,
            before: None,
            activity: DeviceActivity::default(),
            latest: Nanos::ZERO,
            unlocked: Nanos::ZERO,
        }
    }

    /// Takes the scheduler's lock for `time`, once it is free after `at`; when it is given back.
    pub(crate) fn lock(&mut self, at: Nanos, time: Nanos) -> Nanos {
        self.unlocked = self.unlocked.max(at) + time;
        self.unlocked
    }

    /// Takes an I/O of the `load`th load at `at`; when it is finished. As the emulator's namespaces
    /// do it: it waits for
    /// the power state first, and takes as long as that state stretches it.
    #[inline]
    pub(crate) fn submit(&mut self, at: Nanos, direction: Direction, load: usize) -> Nanos {
        debug_assert!(at >= self.latest, "time runs back at the device");
        self.latest = at;
        let LoadParts { bytes, part, means } = self.loads[load];
        if at >= self.from {
            if self.before.is_none() {
                self.before = Some(self.power.idle_energy(self.from));
            }
            let (transfer, mean) = match direction {
                Direction::Write => (&mut self.activity.write, means[1]),
                _ => (&mut self.activity.read, means[0]),
            };
            let parts = u64::from(bytes.div_ceil(part));
            transfer.ios += parts;
            transfer.bytes += u64::from(bytes);
            transfer.service += Nanos(mean.0 * parts);
        }
        let start = self.power.submitted(at);
        let stretch = self.power.stretch(direction);
        let mut finish = self.service.start_at_pace(start, direction, part, stretch);
        let mut left = bytes - part;
        while left > 0 {
            let bytes = left.min(part);
            let end = self.service.start_at_pace(start, direction, bytes, stretch);
            finish = finish.max(end);
            left -= bytes;
        }
        self.power.idle_since(finish);
        finish
    }

    /// Returns what the device did in the measured part until `end`.
    pub(crate) fn activity(&self, end: Nanos) -> DeviceActivity {
        let before = self.before;
        let before = before.unwrap_or_else(|| self.power.idle_energy(self.from.min(end)));
        DeviceActivity {
            window: end.since(self.from),
            idle: Some(Joules(self.power.idle_energy(end).0 - before.0)),
            ..self.activity
        }
    }

    /// I/Os and bytes of both directions.
    pub(crate) fn done(&self) -> [Transfer; 2] {
        [self.activity.read, self.activity.write]
    }
}
