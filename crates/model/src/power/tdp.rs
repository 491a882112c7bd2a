//! The processor package, and what it is sold to draw.

use std::fmt;

use joulio_units::{Joules, Nanos};
use serde::{Deserialize, Serialize};

use super::EnergyParts;
use crate::machine::MachineProfile;
use crate::{CoreState, MeteredAt};

/// A package that draws more than its thermal design power. A real one would slow down, so that
/// neither the run's speed nor its watts could be had.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastTdp {
    /// The package's mean watts.
    pub package_watts: f64,
    /// The TDP in watts: what the package is sold to draw for long.
    pub tdp_watts: f64,
}

impl PastTdp {
    /// Judges a run of `window` whose energy went into `parts`; `None` where the package keeps its
    /// TDP, or the profile has none.
    pub fn of(machine: &MachineProfile, parts: &EnergyParts, window: Nanos) -> Option<PastTdp> {
        let tdp_watts = machine.tdp_watts.as_ref()?.value;
        let package_watts = package(machine, parts, window).0 / window.seconds();
        (package_watts > tdp_watts).then_some(PastTdp {
            package_watts,
            tdp_watts,
        })
    }
}

impl fmt::Display for PastTdp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PastTdp {
            package_watts,
            tdp_watts,
        } = self;
        write!(
            f,
            "the package would draw {package_watts:.0} W, past its TDP of {tdp_watts:.0} W: a real one slows down"
        )
    }
}

/// Computes the package's share of `parts` in `window`: all of its cores, what they share beyond
/// its idle state, and wake-ups, with the supply's loss where watts are of the wall; of a machine
/// whose watts are of the package, all but the devices.
pub fn package(machine: &MachineProfile, parts: &EnergyParts, window: Nanos) -> Joules {
    if machine.boundary == MeteredAt::Package {
        return parts.without_devices();
    }
    let asleep = machine.core_watts(CoreState::C6) * window;
    Joules(asleep.0 * machine.cores.value) + parts.cores + parts.uncore + parts.wakes
}
