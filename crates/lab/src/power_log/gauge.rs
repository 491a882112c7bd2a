//! Measurement of the idle machine.

use super::error::PowerLogError;
use super::state::WindowEnergy;
use joulio_energy::Meters;
use joulio_units::Nanos;
use joulio_workload::Stop;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time between two checks whether a wait should end.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Source of energy figures while the machine idles.
pub trait Gauge {
    /// Returns true if there is anything to measure.
    fn measures(&self) -> bool;

    /// Waits for `length` and returns what the meters measured meanwhile; `None` if it was stopped.
    ///
    /// # Errors
    /// The meters cannot be read.
    fn watch(&mut self, length: Nanos, stop: &Stop) -> Result<Option<GaugeReading>, PowerLogError>;
}

/// Energy in a window by each meter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GaugeReading {
    /// Energy by each meter with a figure.
    pub measured: Vec<WindowEnergy>,
    /// Names of the meters without a figure, with the reasons.
    pub failed: Vec<String>,
}

impl Gauge for Meters {
    fn measures(&self) -> bool {
        !self.is_empty()
    }

    fn watch(&mut self, length: Nanos, stop: &Stop) -> Result<Option<GaugeReading>, PowerLogError> {
        let window = self.open().map_err(PowerLogError::Meters)?;
        let started = Instant::now();
        let length = Duration::from_nanos(length.0);
        loop {
            if stop.stopped() {
                return Ok(None);
            }
            let left = length.saturating_sub(started.elapsed());
            if left.is_zero() {
                break;
            }
            sleep(left.min(CHECK_INTERVAL));
        }
        let mut watched = GaugeReading::default();
        for meter in window.close(None) {
            let name = meter.about.name;
            match meter.figure {
                Ok(figure) => watched.measured.push(WindowEnergy {
                    meter: name,
                    boundary: figure.total.boundary,
                    joules: figure.total.joules.0,
                    seconds: figure.total.window.seconds(),
                }),
                Err(why) => watched.failed.push(format!("{name}: {why}")),
            }
        }
        Ok(Some(watched))
    }
}
