//! Power of each device, in total and above that of the machine without one.

use super::state::WindowEnergy;
use super::windows::RunWindow;
use joulio_energy::Boundary;
use serde::Serialize;

/// Name that stands for the machine without the device under test.
const WITHOUT: &str = "no device";

/// Power of the machine with one device, measured by one meter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoggedDevicePower {
    /// Name of the device.
    pub device: String,
    /// Name of the meter.
    pub meter: String,
    /// Boundary of the meter.
    pub boundary: Boundary,
    /// Length of the window in seconds.
    pub seconds: f64,
    /// Energy of the window in joules.
    pub energy_joules: f64,
    /// Power in watts.
    pub power_watts: f64,
    /// Power in watts above that which the same meter measured without a device.
    pub above_no_device_watts: Option<f64>,
}

/// Power of the machine during one run of a bench.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoggedRunPower {
    /// Factors by which the run differs from the others, and its repetition.
    pub run: String,
    /// Name of the meter.
    pub meter: String,
    /// Boundary of the meter.
    pub boundary: Boundary,
    /// Seconds over which the joules are counted: samples at the edges of the run are left out.
    pub seconds: f64,
    /// Energy of these seconds in joules.
    pub energy_joules: f64,
    /// Power in watts.
    pub power_watts: f64,
    /// I/Os of the whole run.
    pub ios: u64,
    /// Energy per I/O of the whole run at this power; `None`: it did no I/O.
    pub joules_per_io: Option<f64>,
}

impl LoggedRunPower {
    /// Computes the power of `run`, whose energy is `measured`.
    pub(super) fn new(run: &RunWindow, measured: &WindowEnergy) -> LoggedRunPower {
        let watts = measured.joules / measured.seconds;
        let whole = watts * run.seconds;
        LoggedRunPower {
            run: run.name.clone(),
            meter: measured.meter.clone(),
            boundary: measured.boundary,
            seconds: measured.seconds,
            energy_joules: measured.joules,
            power_watts: watts,
            ios: run.ios,
            joules_per_io: (run.ios > 0).then(|| whole / run.ios as f64),
        }
    }
}

/// Returns the power of each window by each meter, in their order.
pub fn figures<'a>(
    windows: impl Iterator<Item = (&'a str, &'a [WindowEnergy])>,
) -> Vec<LoggedDevicePower> {
    let mut figures: Vec<LoggedDevicePower> = windows
        .flat_map(|(device, measured)| {
            let figure = move |measured: &WindowEnergy| LoggedDevicePower {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(meter: &str, joules: f64) -> WindowEnergy {
        WindowEnergy {
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
    }
}
