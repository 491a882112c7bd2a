//! The mean power of an interval.

use joulio_nvme_spec::log::IntervalPower;
use joulio_units::{Nanos, Watts};

/// The time that an interval power is the mean of.
pub(super) const INTERVAL: Nanos = Nanos::from_millis(1_000);

/// The nearest power that can be reported.
pub(super) fn reported(power: Watts) -> IntervalPower {
    IntervalPower::from_microwatts((power.0 * 1e6).round() as u64)
}
