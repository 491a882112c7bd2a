//! Sensors of the kernel's hardware monitoring (`Documentation/hwmon/sysfs-interface.rst`).

mod chip;
mod meaning;
mod sensor;

use crate::finding::{FindingState, Found, MeterFinding};
use crate::meter::Source;
use crate::root::Root;
use crate::select::Select;
use chip::{CLASS, Chip};
use sensor::Sensor;

/// Finds every energy and power sensor.
pub(crate) fn discover(root: &Root, select: &Select) -> Vec<Found> {
    let chips = Chip::all(root);
    let found: Vec<_> = chips
        .iter()
        .flat_map(|chip| chip.sensors(root))
        .map(|sensor| one(root, select, sensor))
        .collect();
    if !found.is_empty() {
        return found;
    }
    let state = FindingState::Absent {
        why: match chips.is_empty() {
            true => format!("no {CLASS}/hwmon*"),
            false => format!("no energy*_input, power*_input or power*_average in {CLASS}/hwmon*"),
        },
        // The driver that a board's sensors need cannot be known here.
        allow: None,
    };
    vec![Found::Not(MeterFinding::new(
        "hwmon",
        Source::Hwmon,
        None,
        state,
    ))]
}

fn one(root: &Root, select: &Select, sensor: Sensor) -> Found {
    let declared = select.boundary_of(&sensor.name);
    let zone = match declared {
        Some(boundary) => Ok(sensor.zone(boundary)),
        None => sensor.meaning(),
    };
    match zone {
        Ok(zone) => Found::Meter(sensor.meter(root, zone)),
        Err(why) => {
            let state = FindingState::Unused { why };
            Found::Not(MeterFinding::new(sensor.name, Source::Hwmon, None, state))
        }
    }
}
