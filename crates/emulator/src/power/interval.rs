//! The mean power of an interval.

use joulio_nvme_spec::log::IntervalPower;
use joulio_units::{Nanos, Watts};

/// Time over which an interval power is averaged.
pub(super) const INTERVAL: Nanos = Nanos::from_millis(1_000);

/// Returns the nearest power that can be reported.
pub(super) fn reported(power: Watts) -> IntervalPower {
    IntervalPower::from_microwatts((power.0 * 1e6).round() as u64)
}
