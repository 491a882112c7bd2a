//! The zone of an energy figure: a boundary and its place in the machine.

use crate::{Boundary, Place};
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

/// A boundary at a place: package 0, the memory of package 1, the power supply called psu2.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Zone {
    /// Part of the machine that is included.
    pub boundary: Boundary,
    /// Place in the machine.
    pub place: Place,
}

impl Zone {
    /// Makes the zone of `boundary` that is the whole machine.
    pub const fn machine(boundary: Boundary) -> Zone {
        Zone {
            boundary,
            place: Place::Machine,
        }
    }

    /// Makes the zone of `boundary` that belongs to one package.
    pub const fn package(boundary: Boundary, package: u32) -> Zone {
        Zone {
            boundary,
            place: Place::package(package),
        }
    }

    /// Whether `self` includes all or some of `other`, so that joules of `other` are counted in `self` too.
    ///
    /// The wall includes everything. The platform includes whatever its vendor has wired into it, which is not known:
    /// it is assumed to include everything but the wall. A package includes its cores. Memory and devices are outside
    /// of the packages.
    pub fn holds(&self, other: &Zone) -> bool {
        match (self.boundary, other.boundary) {
            (Boundary::Wall, inner) => inner != Boundary::Wall,
            (Boundary::Psys, inner) => !matches!(inner, Boundary::Wall | Boundary::Psys),
            (Boundary::Package, inner) => {
                inner == Boundary::Cores && self.place.overlaps(&other.place)
            }
            (Boundary::Cores | Boundary::Dram | Boundary::Device, _) => false,
        }
    }

    /// Whether `self` and `other` are the same zone, or overlap within one boundary.
    pub fn same(&self, other: &Zone) -> bool {
        // No vendor documents how the platform counters of two sockets divide the platform.
        let all = self.boundary == Boundary::Psys;
        self.boundary == other.boundary && (all || self.place.overlaps(&other.place))
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Place::Several(parts) = &self.place {
            let names = parts.iter().map(|place| Zone {
                boundary: self.boundary,
                place: place.clone(),
            });
            let names: Vec<_> = names.map(|zone| zone.to_string()).collect();
            return f.write_str(&names.join(" + "));
        }
        write!(f, "{}", self.boundary)?;
        match &self.place {
            Place::Machine | Place::Several(_) => Ok(()),
            Place::Package { package, die: None } => write!(f, "-{package}"),
            Place::Package {
                package,
                die: Some(die),
            } => write!(f, "-{package}-die-{die}"),
            Place::Part(name) => write!(f, " {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Boundary::{Cores, Device, Dram, Package, Psys, Wall};

    const EVERY: [Boundary; 6] = [Wall, Psys, Package, Cores, Dram, Device];

    #[test]
    fn the_wall_holds_all_and_nothing_holds_the_wall() {
        for inner in EVERY {
            let inside = Zone::package(inner, 0);
            assert!(
                inner == Wall || Zone::machine(Wall).holds(&inside),
                "{inner}"
            );
            assert!(
                inner == Wall || !inside.holds(&Zone::machine(Wall)),
                "{inner}"
            );
        }
    }

    #[test]
    fn a_package_holds_its_own_cores_and_not_its_neighbours() {
        let package = Zone::package(Package, 0);
        assert!(package.holds(&Zone::package(Cores, 0)));
        assert!(!package.holds(&Zone::package(Cores, 1)));
        assert!(!package.holds(&Zone::package(Dram, 0)));
        assert!(!Zone::package(Cores, 0).holds(&package));
    }

    #[test]
    fn dies_of_a_package_are_apart_and_inside_it() {
        let die = |die| Zone {
            boundary: Package,
            place: Place::Package { package: 0, die },
        };
        assert!(!die(Some(0)).same(&die(Some(1))));
        assert!(die(Some(0)).same(&die(Some(0))));
        assert!(die(None).same(&die(Some(1))));
    }

    #[test]
    fn two_power_supplies_are_apart_two_platforms_are_not() {
        let part = |boundary, name: &str| Zone {
            boundary,
            place: Place::Part(name.into()),
        };
        assert!(!part(Wall, "psu1").same(&part(Wall, "psu2")));
        assert!(Zone::machine(Wall).same(&part(Wall, "psu1")));
        assert!(Zone::package(Psys, 0).same(&Zone::package(Psys, 1)));
    }

    #[test]
    fn a_zone_reads_as_the_kernel_names_it() {
        assert_eq!(Zone::package(Package, 1).to_string(), "package-1");
        assert_eq!(Zone::machine(Psys).to_string(), "psys");
    }
}
