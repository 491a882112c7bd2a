//! The boundary that a sensor measures, if it is known.

use super::sensor::Sensor;
use crate::{Boundary, Place, Zone};

/// Drivers of server power supplies, whose `pin` is drawn from the wall. The same label on a
/// voltage regulator is something else.
const POWER_SUPPLIES: [&str; 12] = [
    "acbel_fsg032",
    "bpa_rs600",
    "bpd_rs600",
    "cffps1",
    "cffps2",
    "crps185",
    "dps920ab",
    "ipsps1",
    "pfe1100",
    "pfe3000",
    "yh5151e",
    "ym2151",
];

impl Sensor {
    /// Returns the zone that it measures, or the reason why that is not known.
    pub(super) fn meaning(&self) -> Result<Zone, String> {
        match self.driver.as_str() {
            // ACPI's power meter device (ACPI specification, section 10.4).
            "power_meter" | "acpi_power_meter" => Ok(Zone::machine(Boundary::Wall)),
            driver if POWER_SUPPLIES.contains(&driver) && self.label.starts_with("pin") => {
                Ok(self.zone(Boundary::Wall))
            }
            "amd_energy" => self.of_amd(),
            _ => Err(format!(
                "what it includes is not known{}; if you know, say --meter {}=BOUNDARY",
                match self.label.as_str() {
                    "" => String::new(),
                    label => format!(" (label '{label}')"),
                },
                self.name
            )),
        }
    }

    /// Returns the zone of `boundary`, which the user has declared: of this part alone, where a machine may have
    /// several.
    pub(super) fn zone(&self, boundary: Boundary) -> Zone {
        Zone {
            boundary,
            place: Place::Part(format!("{} {}", self.chip, self.label).trim().to_owned()),
        }
    }

    /// Returns the zone of AMD's driver of before Linux 5.18, which distributions still ship.
    fn of_amd(&self) -> Result<Zone, String> {
        let socket = self.label.strip_prefix("Esocket");
        match socket.and_then(|socket| socket.parse().ok()) {
            Some(socket) => Ok(Zone::package(Boundary::Package, socket)),
            None => Err("of a single core".into()),
        }
    }
}
