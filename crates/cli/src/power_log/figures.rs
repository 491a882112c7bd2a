//! Watts of each device, and above those of the machine without one, for people.

use crate::columns::columns;
use joulio_lab::power_log::LoggedDevicePower;

/// A line for each figure.
pub fn table(figures: &[LoggedDevicePower]) -> String {
    let header = [
        "device",
        "meter",
        "boundary",
        "s",
        "J",
        "W",
        "W above no device",
    ];
    let rows = figures.iter().map(|figure| {
        let above = figure.above_no_device_watts;
        [
            figure.device.clone(),
            figure.meter.clone(),
            figure.boundary.to_string(),
            format!("{:.1}", figure.seconds),
            format!("{:.1}", figure.energy_joules),
            format!("{:.3}", figure.power_watts),
            above.map_or("-".into(), |watts| format!("{watts:.3}")),
        ]
    });
    columns(header, rows, 3)
}
