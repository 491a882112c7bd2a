//! Watts of each device, and above those of the machine without one, for people.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use joulio_lab::power_log::LoggedDevicePower;

/// A line for each figure.
pub fn table(figures: &[LoggedDevicePower]) -> String {
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
    use joulio_units::Boundary;

    #[test]
    fn a_line_has_the_watts_and_those_above_no_device() {
        let figure = LoggedDevicePower {
            device: "ssd".into(),
            meter: "psys".into(),
            boundary: Boundary::Wall,
            seconds: 10.0,
            energy_joules: 930.0,
            power_watts: 93.0,
            above_no_device_watts: Some(5.0),
        };
        let text = table(&[figure]);
        assert!(text.contains("93.000") && text.contains("5.000") && text.contains("psys"));
    }
}
