//! The processor package, and what it is sold to draw.

use joulio_units::{Joules, Nanos, PastTdp};

use super::EnergyParts;
use crate::machine::MachineProfile;
use crate::{CoreState, MeteredAt, Pick};

/// Power of the package above its thermal design power, in a run of `window` whose energy went into
/// `parts`; `None` where the package keeps its TDP, or the profile has none.
pub fn past_tdp(machine: &MachineProfile, parts: &EnergyParts, window: Nanos) -> Option<PastTdp> {
    let tdp_watts = machine.tdp_watts.as_ref()?.value;
    let package_watts = package(machine, parts, window, Pick::Value).0 / window.seconds();
    (package_watts > tdp_watts).then_some(PastTdp {
        package_watts,
        tdp_watts,
    })
}

/// Computes the package's share of `parts` in `window`, with all figures at `pick`: its cores, the parts that they
/// share beyond the idle state, and wake-ups, with the supply's loss if the watts are the wall's. If the machine's
/// watts are the package's, it is everything without the devices.
pub fn package(machine: &MachineProfile, parts: &EnergyParts, window: Nanos, pick: Pick) -> Joules {
    if machine.boundary == MeteredAt::Package {
        return parts.without_devices();
    }
    let asleep = machine.core_watts_at(CoreState::C6, None, pick) * window;
    Joules(asleep.0 * machine.cores.value) + parts.cores + parts.uncore + parts.wakes
}
