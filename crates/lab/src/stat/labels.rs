//! Labels of metrics, under which counters are also saved.

use prometheus_client::encoding::EncodeLabelSet;
use serde::{Deserialize, Serialize};

/// Labels of a meter's metrics.
#[derive(
    Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet, Serialize, Deserialize,
)]
#[serde(deny_unknown_fields)]
pub struct OfMeter {
    /// Boundary of the meter.
    pub domain: String,
    pub place: String,
    pub meter: String,
    pub source: String,
    pub modelled: bool,
}

/// Labels of a block device's metrics.
#[derive(
    Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet, Serialize, Deserialize,
)]
#[serde(deny_unknown_fields)]
pub struct OfDevice {
    pub device: String,
    pub direction: String,
}

impl OfDevice {
    /// Creates labels for `device` in `direction`.
    pub fn new(device: &str, direction: &str) -> OfDevice {
        OfDevice {
            device: device.into(),
            direction: direction.into(),
        }
    }
}
