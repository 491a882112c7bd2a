//! Where the meter is.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What an energy figure includes. They nest (wall holds psys holds package holds cores; dram and
/// device are beside the package), so figures of different boundaries are never added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Boundary {
    /// The whole machine at its plug.
    Wall,
    /// The platform, as the processor's vendor wires it.
    Psys,
    /// The processor packages.
    Package,
    /// The cores alone.
    Cores,
    /// The memory.
    Dram,
    /// The storage device.
    Device,
}

impl Boundary {
    /// Every one, the widest first.
    pub const ALL: [Boundary; 6] = [
        Boundary::Wall,
        Boundary::Psys,
        Boundary::Package,
        Boundary::Cores,
        Boundary::Dram,
        Boundary::Device,
    ];
}

impl FromStr for Boundary {
    type Err = String;

    /// As [`Boundary`] is displayed.
    fn from_str(text: &str) -> Result<Boundary, String> {
        let found = Boundary::ALL.into_iter().find(|b| b.to_string() == text);
        found.ok_or_else(|| {
            format!("'{text}' is not a boundary: wall, psys, package, cores, dram or device")
        })
    }
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Boundary::Wall => "wall",
            Boundary::Psys => "psys",
            Boundary::Package => "package",
            Boundary::Cores => "cores",
            Boundary::Dram => "dram",
            Boundary::Device => "device",
        })
    }
}
