//! What measures an idle machine.

use super::state::Measured;
use crate::failure::Failure;
use joulio_energy::Meters;
use joulio_units::Nanos;
use joulio_workload::Stop;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A wait looks this often whether it is to end.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Something that watches the machine idle.
pub trait Gauge {
    /// Whether it can measure anything.
    fn measures(&self) -> bool;

    /// Lets `length` pass. What the meters said, and of those that failed, why; none when it was
    /// stopped before.
    fn watch(&mut self, length: Nanos, stop: &Stop) -> Result<Option<Watched>, Failure>;
}

/// What meters said of a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    pub measured: Vec<Measured>,
    /// Of a meter without a figure: its name and why.
    pub failed: Vec<String>,
}

impl Gauge for Meters {
    fn measures(&self) -> bool {
        !self.is_empty()
    }

    fn watch(&mut self, length: Nanos, stop: &Stop) -> Result<Option<Watched>, Failure> {
        let window = self.open().map_err(Failure::run)?;
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
        let mut watched = Watched::default();
        for meter in window.close(None) {
            let name = meter.about.name;
            match meter.figure {
                Ok(figure) => watched.measured.push(Measured {
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
