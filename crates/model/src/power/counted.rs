//! Activity of a device, from the kernel's counters.

use joulio_units::{Direction, Nanos};

use super::{DeviceActivity, TransferTotals};
use crate::{DeviceProfile, ServiceModel};

/// I/Os of one direction in a window, by the kernel's count. The kernel sees the beginning and the end of an I/O,
/// and not when the device works on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedIos {
    /// I/Os finished.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Time for which they were in flight, summed over I/Os; time in a queue is included.
    pub outstanding: Nanos,
}

impl DeviceActivity {
    /// Returns the work of a device with `profile` in `window`, in which the kernel counted `read` and `write`.
    ///
    /// For each I/O the device worked for the profile's mean time for an I/O of the mean size, as in virtual time,
    /// but not for longer than the I/Os were in flight: a cache may have answered. Power states are not counted:
    /// the device is taken to idle in power state 0.
    pub fn counted(
        profile: &DeviceProfile,
        window: Nanos,
        read: CountedIos,
        write: CountedIos,
    ) -> DeviceActivity {
        let model = ServiceModel::new(profile, 0);
        let transfer = |direction, counted| transfer(profile, &model, direction, counted);
        DeviceActivity {
            window,
            read: transfer(Direction::Read, read),
            write: transfer(Direction::Write, write),
            idle: None,
        }
    }
}

fn transfer(
    profile: &DeviceProfile,
    model: &ServiceModel,
    direction: Direction,
    counted: CountedIos,
) -> TransferTotals {
    let CountedIos {
        ios,
        bytes,
        outstanding,
    } = counted;
    let mean = bytes.checked_div(ios).unwrap_or(0);
    // A request that is larger than the largest command is split.
    let part = mean.min(u64::from(profile.max_transfer())).max(1);
    let commands = ios.saturating_mul(mean.div_ceil(part).max(1));
    let alone = model.mean(direction, u32::try_from(part).unwrap_or(u32::MAX));
    let service = Nanos(alone.0.saturating_mul(commands));
    TransferTotals {
        ios,
        bytes,
        service: service.min(outstanding),
    }
}
