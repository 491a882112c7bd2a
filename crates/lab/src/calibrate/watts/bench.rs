//! Interfaces of a measurement of watts: cores to keep busy, and meters to read.

use super::activity::Arm;
use super::error::WattsError;
use joulio_energy::Energy;
use joulio_units::Nanos;

/// Cores that can carry out an activity for a while.
pub trait Cores {
    /// Makes the cores carry out `arm`, calls `during` once all of them do, and then stops them.
    ///
    /// # Errors
    /// A core cannot carry it out, `during` fails, or other programs disturbed the machine.
    fn run(
        &mut self,
        arm: &Arm,
        during: &mut dyn FnMut() -> Result<(), WattsError>,
    ) -> Result<Ran, WattsError>;
}

/// A meter, or several whose figures are added up.
pub trait JouleMeter {
    /// Returns the mean power over the next `time`.
    ///
    /// # Errors
    /// A meter fails, or the measurement was stopped.
    fn over(&mut self, time: Nanos) -> Result<MeanPower, WattsError>;
}

/// A clock for the times of windows, to match them with a logger's record.
pub trait WindowClock {
    /// Waits for `time` and returns its beginning and end, in nanoseconds since 1970 UTC.
    ///
    /// # Errors
    /// The clock was changed during that time, or the wait was stopped.
    fn over(&mut self, time: Nanos) -> Result<[Nanos; 2], WattsError>;
}

/// Mean power of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanPower {
    /// Watts.
    pub watts: f64,
    /// Bound of the meter's own error, in watts.
    pub error: f64,
}

impl From<Energy> for MeanPower {
    fn from(energy: Energy) -> MeanPower {
        MeanPower {
            watts: energy.watts().0,
            error: energy.error.map_or(0.0, |error| (error / energy.window).0),
        }
    }
}

/// Record of the cores' activity in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ran {
    /// Timer sleeps that ended, per second and core.
    pub wakes: f64,
    /// Share of a core's time that the kernel charged to joulio's thread on it.
    pub busy: f64,
    /// Share of the cycles that the cores spent in C0.1 or C0.2, whichever they were to wait in; `None`: not counted on
    /// this machine.
    pub inside: Option<f64>,
}
