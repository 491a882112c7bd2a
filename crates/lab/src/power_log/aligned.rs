//! A logger's record on the machine's clock.

use super::error::PowerLogError;
use super::figures::{LoggedDevicePower, LoggedRunPower, figures};
use super::state::WindowEnergy;
use super::windows::LoggedWindows;
use joulio_energy::alignment::{Alignment, AlignmentLimits, align};
use joulio_energy::logger::PowerLog;
use joulio_units::Nanos;

/// A log whose clock has been related to the machine's.
pub struct AlignedLog {
    /// Relation of the two clocks.
    pub alignment: Alignment,
    /// Power in each window of a person's steps.
    pub figures: Vec<LoggedDevicePower>,
    /// Power in each run of a bench.
    pub runs: Vec<LoggedRunPower>,
    /// Names of the windows without a figure, with the reasons.
    pub failed: Vec<String>,
}

impl AlignedLog {
    /// Determines the log's clock from the markers of `windows`, and computes the energy of these windows.
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
