//! The power of the processor package, compared with its thermal design power.

use joulio_units::{Joules, Nanos, PastTdp};

use super::EnergyParts;
use crate::machine::MachineProfile;
use crate::{CoreState, MeteredAt, Pick};

/// Returns the power of the package if it is above its thermal design power, in a run of `window` whose energy is
/// `parts`; `None` if the package keeps its TDP, or the profile has none.
pub fn past_tdp(machine: &MachineProfile, parts: &EnergyParts, window: Nanos) -> Option<PastTdp> {
    let tdp_watts = machine.tdp_watts.as_ref()?.value;
    let package_watts = package(machine, parts, window, Pick::Value).0 / window.seconds();
    (package_watts > tdp_watts).then_some(PastTdp {
        package_watts,
        tdp_watts,
    })
}

/// Returns the package's energy among `parts` in `window`, with all figures at `pick`: its cores, the parts that
/// they share while awake, and wake-ups, including the loss of the power supply if the watts are the wall's.
/// If the machine's watts are the package's, it is everything except the devices.
pub fn package(machine: &MachineProfile, parts: &EnergyParts, window: Nanos, pick: Pick) -> Joules {
    if machine.boundary == MeteredAt::Package {
        return parts.without_devices();
    }
    let asleep = machine.core_watts_at(CoreState::C6, None, pick) * window;
    Joules(asleep.0 * machine.cores.value) + parts.cores + parts.uncore + parts.wakes
}
