//! Place of a boundary in a machine.

use alloc::string::String;
use alloc::vec::Vec;

/// A part that a boundary has in a machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Place {
    /// The whole machine, or all of what the boundary names in it.
    Machine,
    /// A processor package, or one of its dies where each has counters of its own.
    Package {
        /// The package, as `physical_package_id` numbers it.
        package: u32,
        /// The die, in a package with several.
        die: Option<u32>,
    },
    /// A part with a name, such as a power supply or a device.
    Part(String),
    /// Several places that do not overlap.
    Several(Vec<Place>),
}

impl Place {
    /// Makes the place of package `package`, with one die or counters for the whole of it.
    pub const fn package(package: u32) -> Place {
        Place::Package { package, die: None }
    }

    /// Whether `self` and `other` share silicon or wire.
    pub(crate) fn overlaps(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Machine, _) | (_, Place::Machine) => true,
            (Place::Several(parts), one) | (one, Place::Several(parts)) => {
                parts.iter().any(|part| part.overlaps(one))
            }
            (
                Place::Package { package, die },
                Place::Package {
                    package: other_package,
                    die: other_die,
                },
            ) => {
                package == other_package
                    && (die.is_none() || other_die.is_none() || die == other_die)
            }
            (one, other) => one == other,
        }
    }
}
