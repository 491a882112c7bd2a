//! Tables of power by device, in total and above that of the machine without one, and by run.

use crate::columns::columns;
use joulio_lab::power_log::{LoggedDevicePower, LoggedRunPower};

/// Formats a line for each run of a bench.
pub fn of_runs(figures: &[LoggedRunPower]) -> String {
    let header = ["run", "meter", "boundary", "s", "J", "W", "I/Os", "uJ/IO"];
    let rows = figures.iter().map(|figure| {
        let joules = figure.joules_per_io;
        [
            figure.run.clone(),
            figure.meter.clone(),
            figure.boundary.to_string(),
            format!("{:.1}", figure.seconds),
            format!("{:.1}", figure.energy_joules),
            format!("{:.3}", figure.power_watts),
            figure.ios.to_string(),
            joules.map_or("-".into(), |joules| format!("{:.1}", joules * 1e6)),
        ]
    });
    columns(header, rows, 3)
}

/// Formats a line for each device.
pub fn of_devices(figures: &[LoggedDevicePower]) -> String {
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
