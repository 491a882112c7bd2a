//! The link by which a machine attaches a device.

use serde::{Deserialize, Serialize};

use crate::check::FigureCheck;
use crate::range::Range;
use crate::{Figure, ProfileError};

/// PCIe link that a machine has for each device.
///
/// It limits devices that could transfer more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Generation of PCI Express, from 1 to 6.
    pub generation: Figure,
    /// Number of lanes: 1, 2, 4, 8 or 16.
    pub lanes: Figure,
    /// Usable bytes per second in one direction, after encoding, packet headers and flow control.
    pub bytes_per_second: Figure,
}

/// Bytes per second of a lane after encoding, by generation from 1 on (PCI Express Base Specification 6.0, section
/// 4.2): 8b/10b, from generation 3 on 128b/130b, and in generation 6 1b/1b in flits.
const LANE: [f64; 6] = [0.25e9, 0.5e9, 0.9846e9, 1.9692e9, 3.9385e9, 8e9];

impl Link {
    /// Returns the nanoseconds per byte.
    pub fn ns_per_byte(&self) -> f64 {
        1e9 / self.bytes_per_second.value
    }
}

/// Refuses a link that carries more than its lanes can.
pub(crate) fn check(check: &FigureCheck<'_>, link: &Link) -> Result<(), ProfileError> {
    let generations = LANE.len() as f64;
    check.whole("link.generation", &link.generation, 1.0, generations)?;
    check.whole("link.lanes", &link.lanes, 1.0, 16.0)?;
    check.rule(
        link.lanes.count().is_power_of_two(),
        "link.lanes",
        "must be 1, 2, 4, 8 or 16",
    )?;
    let bytes = &link.bytes_per_second;
    check.inside("link.bytes_per_second", bytes, Range::BANDWIDTH)?;
    let carried = LANE[link.generation.count() as usize - 1] * link.lanes.value;
    check.rule(
        bytes.value <= carried,
        "link.bytes_per_second",
        &format!(
            "must be at most {carried:.4e}, which the lanes carry before headers: give what is usable"
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::MachineProfile;

    const LINK: &str = "[link]\n\
        generation = { value = 3, kind = \"guess\", source = \"test\" }\n\
        lanes = { value = 4, kind = \"guess\", source = \"test\" }\n\
        bytes_per_second = { value = 3.5e9, kind = \"guess\", source = \"test\" }\n";

    fn parse(link: &str) -> Result<MachineProfile, String> {
        let client = include_str!("../profiles/machines/client.toml");
        let text = format!("{client}\n{link}");
        MachineProfile::parse(&text, "x.toml").map_err(|error| error.to_string())
    }

    #[test]
    fn a_link_carries_no_more_than_its_lanes() {
        let link = parse(LINK).unwrap().link.unwrap();
        assert!((link.ns_per_byte() - 1.0 / 3.5).abs() < 1e-12);
        for (from, to, want) in [
            (
                "value = 3,",
                "value = 2,",
                "link.bytes_per_second must be at most 2.0000e9",
            ),
            (
                "value = 3,",
                "value = 7,",
                "link.generation must be from 1 to 6",
            ),
            (
                "value = 4",
                "value = 3",
                "link.lanes must be 1, 2, 4, 8 or 16",
            ),
            ("3.5e9", "0", "link.bytes_per_second must be from"),
        ] {
            let refused = parse(&LINK.replace(from, to)).unwrap_err();
            assert!(refused.contains(want), "{to}: {refused}");
        }
    }
}
