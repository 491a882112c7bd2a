//! The part of a machine that an energy figure includes.

use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

/// The part of a machine that an energy figure includes. Boundaries nest (wall holds psys holds
/// package holds cores; dram and device are beside the package), so figures of different boundaries
/// are never added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// All boundaries, the widest first.
    pub const ALL: [Boundary; 6] = [
        Boundary::Wall,
        Boundary::Psys,
        Boundary::Package,
        Boundary::Cores,
        Boundary::Dram,
        Boundary::Device,
    ];
}

/// Error of a word that names no boundary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a boundary: wall, psys, package, cores, dram or device")]
pub struct UnknownBoundary(pub String);

impl FromStr for Boundary {
    type Err = UnknownBoundary;

    /// Parses a boundary as it is displayed: `wall`, `package`.
    fn from_str(text: &str) -> Result<Boundary, UnknownBoundary> {
        let found = Boundary::ALL.into_iter().find(|b| b.to_string() == text);
        found.ok_or_else(|| UnknownBoundary(text.into()))
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
