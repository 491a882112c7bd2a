//! Noise that the processor adds to its own counters.

use super::processor::{Processor, Vendor};
use crate::MeterError;
use crate::root::Root;
use std::fmt;

/// IA32_ARCH_CAPABILITIES; its bit 11 means that filtering can be set and read.
const ARCH_CAPABILITIES: u64 = 0x10a;
const ENERGY_FILTERING_CTL: u64 = 1 << 11;
/// IA32_MISC_PACKAGE_CTLS; its bit 0 is ENERGY_FILTERING_ENABLE.
const MISC_PACKAGE_CTLS: u64 = 0xbc;
const ENERGY_FILTERING_ENABLE: u64 = 1;

/// State of RAPL's energy filtering, which adds noise to the counters against the PLATYPUS attack (Intel's guidance on
/// Running Average Power Limit Energy Reporting). Sums over a second are hardly affected; short windows are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filtering {
    /// Energy counters are filtered.
    On,
    /// Energy counters are not filtered.
    Off,
    /// The processor has no filtering.
    None,
    /// Not known.
    Unknown {
        /// Reason in words.
        why: String,
    },
}

impl Filtering {
    /// Returns the filtering on the first processor of `root`.
    pub fn of(root: &Root) -> Filtering {
        if Processor::of(root).vendor != Vendor::Intel {
            return Filtering::None;
        }
        match enabled(root) {
            Ok(Some(true)) => Filtering::On,
            Ok(Some(false)) => Filtering::Off,
            Ok(None) => Filtering::None,
            Err(MeterError::Removed { what }) => Filtering::Unknown {
                why: format!("no {what}: sudo modprobe msr, and run joulio as root"),
            },
            Err(error) => Filtering::Unknown {
                why: error.to_string(),
            },
        }
    }
}

/// Reads whether filtering is on; `None` if the processor does not have it.
fn enabled(root: &Root) -> Result<Option<bool>, MeterError> {
    if msr(root, ARCH_CAPABILITIES)? & ENERGY_FILTERING_CTL == 0 {
        return Ok(None);
    }
    let controls = msr(root, MISC_PACKAGE_CTLS)?;
    Ok(Some(controls & ENERGY_FILTERING_ENABLE != 0))
}

fn msr(root: &Root, number: u64) -> Result<u64, MeterError> {
    const DEVICE: &str = "/dev/cpu/0/msr";
    let bytes = root.bytes(DEVICE, number, 8)?;
    let bytes = bytes.try_into();
    bytes
        .map(u64::from_le_bytes)
        .map_err(|_| MeterError::malformed(DEVICE, "fewer than 8 bytes"))
}

impl fmt::Display for Filtering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filtering::On => f.write_str("on: RAPL's counters carry noise, use windows of seconds"),
            Filtering::Off => f.write_str("off"),
            Filtering::None => f.write_str("none: this processor adds no noise to its counters"),
            Filtering::Unknown { why } => write!(f, "unknown: {why}"),
        }
    }
}
