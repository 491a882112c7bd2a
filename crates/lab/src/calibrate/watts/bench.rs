//! The two sides of a measurement of watts: cores that do something, and joules that are read.

use super::activity::Arm;
use super::error::WattsError;
use joulio_energy::Energy;
use joulio_units::Nanos;

/// Cores that can be made to do something for a while.
pub trait Cores {
    /// Makes the cores do what `arm` says, calls `during` as soon as they all do, and lets them
    /// rest again.
    ///
    /// # Errors
    /// A core cannot do it, `during` fails, or the machine was not quiet.
    fn run(
        &mut self,
        arm: &Arm,
        during: &mut dyn FnMut() -> Result<(), WattsError>,
    ) -> Result<Ran, WattsError>;
}

/// A meter, or several that are added up.
pub trait JouleMeter {
    /// The energy of the next `time`.
    ///
    /// # Errors
    /// A meter fails, or it was stopped.
    fn over(&mut self, time: Nanos) -> Result<Energy, WattsError>;
}

/// Record of what the cores of a window did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ran {
    /// Timer sleeps that ended, a second and core.
    pub wakes: f64,
    /// Share of a core's time that the system charged to joulio's thread on it.
    pub busy: f64,
    /// Share of the cycles that the cores were in C0.1 or C0.2, whichever they were to wait in;
    /// `None`: not counted here.
    pub inside: Option<f64>,
}
