//! A logger's record, put on the machine's clock.

use super::error::PowerLogError;
use super::figures::{LoggedDevicePower, LoggedRunPower, figures};
use super::state::WindowEnergy;
use super::windows::LoggedWindows;
use joulio_energy::alignment::{Alignment, AlignmentLimits, align};
use joulio_energy::logger::PowerLog;
use joulio_units::Nanos;

/// A log on the machine's clock.
pub struct AlignedLog {
    /// Relation of the two clocks to each other.
    pub alignment: Alignment,
    /// Power of each window of a person's steps.
    pub figures: Vec<LoggedDevicePower>,
    /// Power of each run of a bench.
    pub runs: Vec<LoggedRunPower>,
    /// Name of each window without a figure, and why.
    pub failed: Vec<String>,
}

impl AlignedLog {
    /// Puts `log` on the clock by the markers of `windows`, and measures these.
    ///
    /// # Errors
    /// The markers are not in the log.
    pub fn new(log: &PowerLog, windows: &LoggedWindows) -> Result<AlignedLog, PowerLogError> {
        let alignment = align(log, &windows.markers, &AlignmentLimits::default())?;
        let mut failed = vec![];
        let mut devices = vec![];
        for window in &windows.devices {
            let (start, end) = (Nanos(window.start_unix_ns), Nanos(window.end_unix_ns));
            match measure(log, &alignment, start, end) {
                Ok(measured) => devices.push((window.name.as_str(), [measured])),
                Err(why) => failed.push(format!("window '{}': {why}", window.name)),
            }
        }
        let mut runs = vec![];
        for run in &windows.runs {
            let measured = match &run.unplaced {
                Some(why) => Err(why.clone()),
                None => measure(log, &alignment, run.start, run.end),
            };
            match measured {
                Ok(measured) => runs.push(LoggedRunPower::new(run, &measured)),
                Err(why) => failed.push(format!("run '{}': {why}", run.name)),
            }
        }
        let devices = devices
            .iter()
            .map(|(name, measured)| (*name, &measured[..]));
        Ok(AlignedLog {
            figures: figures(devices),
            runs,
            alignment,
            failed,
        })
    }
}

fn measure(
    log: &PowerLog,
    alignment: &Alignment,
    start: Nanos,
    end: Nanos,
) -> Result<WindowEnergy, String> {
    let energy = alignment.energy(log, start, end);
    let energy = energy.map_err(|error| error.to_string())?;
    Ok(WindowEnergy {
        meter: energy.source,
        boundary: energy.boundary,
        joules: energy.joules.0,
        seconds: energy.window.seconds(),
    })
}
