//! Where the meter is.

use serde::Serialize;
use std::fmt;

/// What an energy figure includes. They nest (wall holds psys holds package holds cores; dram and
/// device are beside the package), so figures of different boundaries are never added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
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
