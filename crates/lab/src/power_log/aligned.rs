//! A logger's record, put on the machine's clock.

use super::error::PowerLogError;
use super::figures::{LoggedDevicePower, figures};
use super::state::{SwapState, SwapWindow, WindowEnergy};
use joulio_energy::alignment::{Alignment, AlignmentLimits, align};
use joulio_energy::logger::PowerLog;
use joulio_units::Nanos;
use std::path::Path;

/// A log on the machine's clock.
pub struct AlignedLog {
    /// Relation of the two clocks to each other.
    pub alignment: Alignment,
    /// Power of each window.
    pub figures: Vec<LoggedDevicePower>,
    /// Name of each window without a figure, and why.
    pub failed: Vec<String>,
}

impl AlignedLog {
    /// Puts `log` on the clock by the markers of the file `path`, and measures its windows.
    ///
    /// # Errors
    /// The file cannot be read, or its markers are not in the log.
    pub fn new(log: &PowerLog, path: &Path) -> Result<AlignedLog, PowerLogError> {
        let state = SwapState::load(path)?;
        let alignment = align(log, &state.markers(), &AlignmentLimits::default());
        let alignment = alignment?;
        let mut failed = vec![];
        let mut windows = vec![];
        for window in &state.windows {
            match measure(log, &alignment, window) {
                Ok(measured) => windows.push((window.name.as_str(), [measured])),
                Err(why) => failed.push(format!("window '{}': {why}", window.name)),
            }
        }
        let windows = windows
            .iter()
            .map(|(name, measured)| (*name, &measured[..]));
        Ok(AlignedLog {
            figures: figures(windows),
            alignment,
            failed,
        })
    }
}

fn measure(
    log: &PowerLog,
    alignment: &Alignment,
    window: &SwapWindow,
) -> Result<WindowEnergy, String> {
    let (start, end) = (Nanos(window.start_unix_ns), Nanos(window.end_unix_ns));
    let energy = alignment.energy(log, start, end);
    let energy = energy.map_err(|error| error.to_string())?;
    Ok(WindowEnergy {
        meter: energy.source,
        boundary: energy.boundary,
        joules: energy.joules.0,
        seconds: energy.window.seconds(),
    })
}
