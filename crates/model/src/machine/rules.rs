//! The rules for a machine's numbers.

use super::{CoreWatts, MachineProfile};
use crate::check::FigureCheck;
use crate::range::Range;
use crate::{Frequency, ProfileError, link};

/// Refuses a machine with invalid numbers.
pub(super) fn check(machine: &MachineProfile, origin: &str) -> Result<(), ProfileError> {
    let check = &FigureCheck { origin };
    check.text("name", &machine.name)?;
    check.text("description", &machine.description)?;
    for part in &machine.processors {
        check.text("processors", part)?;
    }
    check.whole("cores", &machine.cores, 1.0, 65_536.0)?;
    check.inside("base_watts", &machine.base_watts, Range::MACHINE_WATTS)?;
    if let Some(tdp) = &machine.tdp_watts {
        check.inside("tdp_watts", tdp, Range::MACHINE_WATTS)?;
    }
    for (field, uncore) in [
        ("uncore_watts", &machine.uncore_watts),
        ("uncore_active_watts", &machine.uncore_active_watts),
    ] {
        if let Some(uncore) = uncore {
            check.inside(field, uncore, Range::UNCORE_WATTS)?;
        }
    }
    core_watts(check, &machine.core_watts)?;
    if let Some(law) = &machine.frequency {
        frequency(check, law)?;
    }
    for (field, joules) in [
        ("wake.interrupt_joules", &machine.wake.interrupt_joules),
        ("wake.timer_joules", &machine.wake.timer_joules),
    ] {
        check.inside(field, joules, Range::WAKE_JOULES)?;
    }
    if let Some(found) = &machine.link {
        link::check(check, found)?;
    }
    match &machine.costs {
        Some(costs) => super::costs::check(check, costs),
        None => Ok(()),
    }
}

/// Checks that by the law a higher frequency never takes less power.
fn frequency(check: &FigureCheck<'_>, law: &Frequency) -> Result<(), ProfileError> {
    check.inside(
        "frequency.reference_hertz",
        &law.reference_hertz,
        Range::CORE_HERTZ,
    )?;
    check.within("frequency.static_share", &law.static_share, 0.0, 1.0)?;
    check.within("frequency.exponent", &law.exponent, 0.0, 4.0)
}

/// Checks that every state draws more than nothing and at least as much as C6, and an idle one no more than a spin.
fn core_watts(check: &FigureCheck<'_>, watts: &CoreWatts) -> Result<(), ProfileError> {
    let states = [
        ("core_watts.spin", Some(&watts.spin)),
        ("core_watts.kernel", Some(&watts.kernel)),
        ("core_watts.pause_c01", watts.pause_c01.as_ref()),
        ("core_watts.pause_c02", watts.pause_c02.as_ref()),
        ("core_watts.monitor", watts.monitor.as_ref()),
        ("core_watts.c1", Some(&watts.c1)),
        ("core_watts.c1e", Some(&watts.c1e)),
        ("core_watts.c6", Some(&watts.c6)),
    ];
    let states = states.map(|(field, figure)| figure.map(|figure| (field, figure)));
    for (field, figure) in states.iter().flatten() {
        check.inside(field, figure, Range::CORE_WATTS)?;
    }
    check.rule(
        watts.monitor.is_none() || watts.pause_c02.is_none(),
        "core_watts.monitor",
        "is core_watts.pause_c02 on a CPU with WAITPKG: leave one of them out",
    )?;
    let (spin, c6) = (watts.spin.value, watts.c6.value);
    for (field, figure) in states.into_iter().flatten() {
        check.rule(
            figure.value >= c6,
            field,
            "must not be less than core_watts.c6",
        )?;
        check.rule(
            figure.value <= spin || field == "core_watts.kernel",
            field,
            "must not exceed core_watts.spin: waiting does not cost more than spinning",
        )?;
    }
    Ok(())
}
