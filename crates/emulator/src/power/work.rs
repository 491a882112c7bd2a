//! The energy of work beyond idling, by a profile: the arithmetic of
//! [`joulio_model::power::device`], in whatever power state the work is done.

use crate::activity::Activity;
use joulio_model::{DeviceProfile, PowerStates, TransferTotals};
use joulio_units::{Direction, Joules, Nanos};

/// Work since a controller was switched on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worked {
    read: TransferTotals,
    write: TransferTotals,
}

impl Worked {
    /// Returns the work of `activity`. Write Zeroes and Dataset Management count as writes, as their service times are;
    /// a flush counts as no work, as in the model.
    pub(crate) fn of(activity: &Activity) -> Worked {
        let mut write = activity.write;
        write.service += activity.other.service;
        Worked {
            read: activity.read,
            write,
        }
    }

    pub(super) fn since(&self, before: &Worked) -> Worked {
        let less = |now: TransferTotals, then: TransferTotals| TransferTotals {
            ios: now.ios - then.ios,
            bytes: now.bytes - then.bytes,
            service: now.service.since(then.service),
        };
        Worked {
            read: less(self.read, before.read),
            write: less(self.write, before.write),
        }
    }
}

/// The profile's figures for the energy of work.
#[derive(Debug)]
pub(super) struct Working {
    /// Number of I/Os in service while all servers are busy.
    saturating_ios: f64,
    /// Bytes per second; infinite without a limit.
    bandwidth: [f64; 2],
    /// Watts, idle power included, while busy in power state 0.
    active: [f64; 2],
    /// Watts when idle in each power state, if that does I/O.
    idle: Box<[Option<f64>]>,
    /// Idle watts of the power state that does I/O now.
    awake: f64,
    /// Seconds in which the device could have worked and counted no work: an I/O counts when it is over, and may have
    /// begun in an earlier window.
    spare: f64,
}

/// Maximum number of seconds kept in `spare`: an I/O that is longer is not metered as a whole.
const MAX_SPARE: f64 = 1.0;

impl Working {
    pub(super) fn new(profile: &DeviceProfile) -> Working {
        let (service, power) = (&profile.service, &profile.power);
        let awake = power.idle_watts.value;
        let idle = power.states.iter().map(|state| {
            let cap = state.max_power_watts.value;
            let capped = if cap > 0.0 { awake.min(cap) } else { awake };
            let declared = state.idle_watts.as_ref();
            let idle = declared.map_or(capped, |figure| figure.value);
            state.operational.then_some(idle)
        });
        let idle: Box<[_]> = idle.collect();
        let limit = |bytes: Option<f64>| bytes.unwrap_or(f64::INFINITY);
        Working {
            saturating_ios: profile.saturating_ios(),
            bandwidth: [
                limit(service.read_bytes_per_second()),
                limit(service.write_bytes_per_second()),
            ],
            active: [
                power.read_active_watts.value,
                power.write_active_watts.value,
            ],
            awake: idle.first().copied().flatten().unwrap_or(awake),
            idle,
            spare: 0.0,
        }
    }

    /// Sets the power state `ps` that the host has requested: I/O is done in it, unless it is non-operational.
    pub(super) fn operates_in(&mut self, ps: u8) {
        if let Some(&Some(idle)) = self.idle.get(usize::from(ps)) {
            self.awake = idle;
        }
    }

    /// Computes the energy of a window's work beyond idling. If a power state's cap stretches an I/O, the I/O draws the
    /// cap for the longer time.
    pub(super) fn energy(
        &mut self,
        window: Nanos,
        worked: &Worked,
        states: &PowerStates,
    ) -> Joules {
        let transfers = [&worked.read, &worked.write];
        let directions = [Direction::Read, Direction::Write];
        let (mut busy, mut joules) = (0.0, 0.0);
        for (index, transfer) in transfers.into_iter().enumerate() {
            let served = transfer.service.seconds() / self.saturating_ios;
            let time = served.max(transfer.bytes as f64 / self.bandwidth[index]);
            let stretch = states.stretch(directions[index]);
            busy += time * stretch;
            joules += time * (self.active[index] - self.awake * stretch);
        }
        // A device cannot be busier than all the time.
        let room = self.spare + window.seconds();
        let scale = if busy > room { room / busy } else { 1.0 };
        self.spare = (room - busy * scale).clamp(0.0, MAX_SPARE);
        Joules(joules * scale)
    }
}
