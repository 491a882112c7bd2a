//! Labels of metrics, which counters are kept by too.

use prometheus_client::encoding::EncodeLabelSet;
use serde::{Deserialize, Serialize};

/// Labels of a meter's figures.
#[derive(
    Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet, Serialize, Deserialize,
)]
#[serde(deny_unknown_fields)]
pub struct OfMeter {
    /// The boundary.
    pub domain: String,
    pub place: String,
    pub meter: String,
    pub source: String,
    pub modelled: bool,
}

/// Labels of a block device's figures.
#[derive(
    Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet, Serialize, Deserialize,
)]
#[serde(deny_unknown_fields)]
pub struct OfDevice {
    pub device: String,
    pub direction: String,
}

impl OfDevice {
    /// Labels of `device` in `direction`.
    pub fn new(device: &str, direction: &str) -> OfDevice {
        OfDevice {
            device: device.into(),
            direction: direction.into(),
        }
    }
}
