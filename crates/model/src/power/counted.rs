//! Activity of a device, by the counters of a kernel.

use joulio_units::{Direction, Nanos};

use super::{DeviceActivity, TransferTotals};
use crate::{DeviceProfile, ServiceModel};

/// I/Os of one direction as a kernel counts them in a window, which sees when an I/O began and ended
/// and not when the device worked on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedIos {
    /// I/Os finished.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time for which they were outstanding, summed over I/Os; waiting in a queue is part of it.
    pub outstanding: Nanos,
}

impl DeviceActivity {
    /// Work of a device of `profile` in `window`, in which a kernel counted `read` and `write`.
    ///
    /// The device worked on each for the profile's time for an I/O of the mean size, as in virtual time,
    /// but for no longer than the I/Os were outstanding: a cache may have answered. Power states are not
    /// counted: it idled awake.
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
    // A request larger than the largest command is sent as several.
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
