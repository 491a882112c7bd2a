//! Joules of the run's cores, of the parts that they share, and of their wake-ups.

use joulio_units::{Joules, Nanos, Watts};

use super::Residency;
use crate::machine::MachineProfile;
use crate::{Figure, Pick};

/// Returns the energy of the run's cores above C6, which the base already includes.
///
/// C6 is subtracted, so that the least energy has C6 at the high end of its band. A state never takes less than C6,
/// whatever their bands are.
pub fn cores(machine: &MachineProfile, run_cores: &[Residency], pick: Pick) -> Joules {
    let floor = machine.core_watts.c6.at(pick.opposite());
    above(floor, machine, run_cores, pick)
}

/// Returns the energy of the cores including C6: the reading of a meter at the cores.
pub fn cores_in_full(machine: &MachineProfile, run_cores: &[Residency], pick: Pick) -> Joules {
    above(0.0, machine, run_cores, pick)
}

fn above(floor: f64, machine: &MachineProfile, run_cores: &[Residency], pick: Pick) -> Joules {
    run_cores.iter().fold(Joules::default(), |sum, core| {
        let states = core.by_state().into_iter();
        states.fold(sum, |sum, (state, time)| {
            let watts = machine.core_watts_at(state, core.frequency, pick);
            sum + Watts((watts.0 - floor).max(0.0) * core.factor(state)) * time
        })
    })
}

/// Returns the energy of the parts that the cores share: ring or mesh, last-level cache, memory.
///
/// The uncore is awake for as long as the core that is out of C6 for the longest, and draws more as cores are busy:
/// `uncore_watts x awake + uncore_active_watts x (sum of the cores' busy times / cores of the machine)`. More
/// threads than cores do not make it busier than all cores do.
pub fn uncore(machine: &MachineProfile, run_cores: &[Residency], pick: Pick) -> Joules {
    let awake = run_cores.iter().map(Residency::total).max();
    let awake = awake.unwrap_or_default();
    let busy = run_cores
        .iter()
        .fold(Nanos::ZERO, |sum, core| sum + core.busy());
    let busy = (busy.seconds() / machine.cores.value).min(awake.seconds());
    let watts = |figure: &Option<Figure>| figure.as_ref().map_or(0.0, |f| f.at(pick));
    let idling = Watts(watts(&machine.uncore_watts)) * awake;
    idling + Joules(watts(&machine.uncore_active_watts) * busy)
}

/// Returns the energy of the wake-ups of the run's cores.
pub fn wakes(machine: &MachineProfile, run_cores: &[Residency], pick: Pick) -> Joules {
    let wake = &machine.wake;
    run_cores.iter().fold(Joules::default(), |sum, core| {
        let interrupts = Joules(wake.interrupt_joules.at(pick) * core.wakes as f64);
        let timers = Joules(wake.timer_joules.at(pick) * core.timer_wakes as f64);
        sum + interrupts + timers
    })
}
