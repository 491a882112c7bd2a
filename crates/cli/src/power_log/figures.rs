//! Watts of each device, and above those of the machine without one.

use super::state::Measured;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use joulio_energy::Boundary;
use serde::Serialize;

/// What the machine without the device under test is called.
const WITHOUT: &str = "no device";

/// A meter's figure of a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The window's name.
    pub device: String,
    pub meter: String,
    pub boundary: Boundary,
    pub seconds: f64,
    pub energy_joules: f64,
    pub power_watts: f64,
    /// Less what the same meter said without a device.
    pub above_no_device_watts: Option<f64>,
}

/// The figures of windows, in their order.
pub fn figures<'a>(windows: impl Iterator<Item = (&'a str, &'a [Measured])>) -> Vec<Figure> {
    let mut figures: Vec<Figure> = windows
        .flat_map(|(device, measured)| {
            let figure = move |measured: &Measured| Figure {
                device: device.into(),
                meter: measured.meter.clone(),
                boundary: measured.boundary,
                seconds: measured.seconds,
                energy_joules: measured.joules,
                power_watts: measured.joules / measured.seconds,
                above_no_device_watts: None,
            };
            measured.iter().map(figure)
        })
        .collect();
    let without: Vec<_> = figures
        .iter()
        .filter(|figure| figure.device.trim().eq_ignore_ascii_case(WITHOUT))
        .map(|figure| (figure.meter.clone(), figure.power_watts))
        .collect();
    for figure in &mut figures {
        let base = without.iter().find(|(meter, _)| *meter == figure.meter);
        figure.above_no_device_watts = base.map(|(_, watts)| figure.power_watts - watts);
    }
    figures
}

/// For people.
pub fn table(figures: &[Figure]) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header([
        "device",
        "meter",
        "boundary",
        "s",
        "J",
        "W",
        "W above no device",
    ]);
    for figure in figures {
        let above = figure.above_no_device_watts;
        table.add_row([
            figure.device.clone(),
            figure.meter.clone(),
            figure.boundary.to_string(),
            format!("{:.1}", figure.seconds),
            format!("{:.1}", figure.energy_joules),
            format!("{:.3}", figure.power_watts),
            above.map_or("-".into(), |watts| format!("{watts:.3}")),
        ]);
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines = table.lines();
    lines
        .map(|line| line.trim_end().to_string() + "\n")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(meter: &str, joules: f64) -> Measured {
        Measured {
            meter: meter.into(),
            boundary: Boundary::Wall,
            joules,
            seconds: 10.0,
        }
    }

    #[test]
    fn each_meter_is_compared_with_itself() {
        let windows = [
            (
                "ssd",
                vec![measured("plug", 930.0), measured("psys", 500.0)],
            ),
            ("No Device", vec![measured("plug", 880.0)]),
        ];
        let windows = windows
            .iter()
            .map(|(name, measured)| (*name, &measured[..]));
        let figures = figures(windows);
        let above: Vec<_> = figures
            .iter()
            .map(|one| one.above_no_device_watts)
            .collect();
        assert_eq!(above, [Some(5.0), None, Some(0.0)]);
        assert_eq!(figures[0].power_watts, 93.0);
        let text = table(&figures);
        assert!(text.contains("93.000") && text.contains("5.000") && text.contains("psys"));
    }
}
