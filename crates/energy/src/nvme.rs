//! A storage device that measures its own power.
//!
//! Once started, a controller with log 25h Power Measurement records the mean power of every second; their number times
//! their mean is an energy that increases once a second. A controller without it may report the latest second's power
//! in its SMART log, which is then sampled. [`NvmePower`] hides how the controller is reached.

use crate::{
    About, Boundary, Clock, Meter, MeterError, MeterKind, MeterValue, Place, Reading, Source, Zone,
};
use joulio_units::{Joules, Nanos, Watts};
use std::fmt;

/// Interval of the device's measurements, by the specification.
const INTERVAL: Nanos = Nanos::from_millis(1_000);
/// Finest unit in which the device reports power.
const FINEST: Watts = Watts(1e-4);

/// Access to a controller's power measurements.
pub trait NvmePower: Send + fmt::Debug {
    /// Returns the name of the device: `/dev/nvme0`.
    fn name(&self) -> &str;

    /// Whether the device has log 25h.
    fn measures(&self) -> bool;

    /// Starts the device's measurement from zero (feature 25h).
    ///
    /// # Errors
    /// [`MeterError`] when the device refuses feature 25h, or is removed.
    fn start(&mut self) -> Result<(), MeterError>;

    /// Stops the device's measurement.
    ///
    /// # Errors
    /// [`MeterError`] when the device refuses feature 25h, or is removed.
    fn stop(&mut self) -> Result<(), MeterError>;

    /// Reads log 25h.
    ///
    /// # Errors
    /// [`MeterError`] when the log cannot be read, or is malformed.
    fn log(&mut self) -> Result<PowerLogFields, MeterError>;

    /// Reads the mean power of the latest second from the SMART log; `None` if it is not reported.
    ///
    /// # Errors
    /// [`MeterError`] when the log cannot be read.
    fn interval_power(&mut self) -> Result<Option<Watts>, MeterError>;
}

/// The fields of log 25h that a meter needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLogFields {
    /// Number of starts, which rolls over.
    pub generation: u8,
    /// Whether the device is measuring.
    pub measuring: bool,
    /// Whether the power is estimated by the device, not measured.
    pub estimated: bool,
    /// Whether the measurement has gaps.
    pub gaps: bool,
    /// Seconds measured since the start.
    pub intervals: u32,
    /// Mean power of the intervals; `None` before the first.
    pub mean: Option<Watts>,
    /// Step that the power is rounded to.
    pub step: Watts,
    /// Error bound in percent, where that is known.
    pub percent_error: Option<u8>,
}

/// The meter in a storage device. When dropped, it stops the measurement that it has started.
#[derive(Debug)]
pub struct NvmeMeter {
    about: About,
    power: Box<dyn NvmePower>,
    interface: Interface,
}

#[derive(Debug)]
enum Interface {
    Log(Counting),
    Smart,
}

/// A measurement under way.
#[derive(Debug)]
struct Counting {
    generation: u8,
    /// Whether it was started here: otherwise it continues for whoever started it.
    ours: bool,
    /// Time at which the measurement began, as far as that is known.
    began: Nanos,
    /// Latest reading, which is valid until the next interval ends.
    last: Reading,
    intervals: u32,
}

impl NvmeMeter {
    /// Makes a meter of `power`: starts its measurement, unless one is under way.
    ///
    /// # Errors
    /// [`MeterError`]: the device has neither log 25h nor a power in its SMART log, or does not
    /// answer.
    pub fn open(mut power: Box<dyn NvmePower>, clock: &dyn Clock) -> Result<NvmeMeter, MeterError> {
        if power.measures() {
            return NvmeMeter::counting(power, clock);
        }
        if power.interval_power()?.is_none() {
            return Err(MeterError::Failed {
                what: power.name().into(),
                why: "log 25h and the SMART log's power are not supported by this device".into(),
            });
        }
        let kind = MeterKind::Power {
            step: FINEST,
            update: INTERVAL,
        };
        let notes = vec!["the SMART log's mean power of the latest second".into()];
        Ok(NvmeMeter {
            about: about(power.name(), kind, notes),
            power,
            interface: Interface::Smart,
        })
    }

    fn counting(mut power: Box<dyn NvmePower>, clock: &dyn Clock) -> Result<NvmeMeter, MeterError> {
        let before = power.log()?;
        let ours = !before.measuring;
        if ours {
            power.start()?;
        }
        let now = clock.now();
        let log = power.log()?;
        let began = now - Nanos(INTERVAL.0 * u64::from(log.intervals));
        let kind = MeterKind::Counter {
            step: Joules(FINEST.0),
            update: INTERVAL,
            wraps_after: None,
        };
        let mut meter = NvmeMeter {
            about: about(power.name(), kind, notes(&log, ours)),
            power,
            interface: Interface::Log(Counting {
                generation: log.generation,
                ours,
                began,
                last: Reading {
                    at: began,
                    value: MeterValue::Total(Joules(0.0)),
                },
                intervals: 0,
            }),
        };
        if let Interface::Log(counting) = &mut meter.interface {
            counting.take(&log, &mut meter.about)?;
        }
        Ok(meter)
    }
}

fn about(device: &str, kind: MeterKind, notes: Vec<String>) -> About {
    About {
        name: format!("nvme:{device}"),
        source: Source::Nvme,
        zone: Zone {
            boundary: Boundary::Device,
            place: Place::Part(device.into()),
        },
        kind,
        slow: false,
        modelled: false,
        notes,
    }
}

fn notes(log: &PowerLogFields, ours: bool) -> Vec<String> {
    let mut notes = vec!["log 25h of the device, a mean of whole seconds".to_owned()];
    if log.estimated {
        notes.push("estimated by the device, not measured".into());
    }
    if let Some(percent) = log.percent_error {
        notes.push(format!("by its own word up to {percent} % wrong"));
    }
    if !ours {
        notes.push("a measurement that somebody else has started".into());
    }
    notes
}

impl Counting {
    /// Whether the present interval has not ended yet, so that the device would report the same as before.
    fn stands(&self, now: Nanos) -> bool {
        now < self.last.at + INTERVAL
    }

    fn take(&mut self, log: &PowerLogFields, about: &mut About) -> Result<Reading, MeterError> {
        if !log.measuring {
            return Err(MeterError::Removed {
                what: format!("{}: its measurement was stopped", about.name),
            });
        }
        if log.generation != self.generation || log.intervals < self.intervals {
            return Err(MeterError::WentBack {
                what: about.name.clone(),
                from: self.intervals.into(),
                to: log.intervals.into(),
            });
        }
        let seconds = f64::from(log.intervals);
        let total = log.mean.map_or(0.0, |mean| mean.0 * seconds);
        // The mean is rounded, and may fall by more than a second adds.
        let before = match self.last.value {
            MeterValue::Total(joules) => joules.0,
            MeterValue::Power(_) => 0.0,
        };
        self.intervals = log.intervals;
        self.last = Reading {
            // Time at which the latest interval ended: energy used since is not included.
            at: self.began + Nanos(INTERVAL.0 * u64::from(log.intervals)),
            value: MeterValue::Total(Joules(total.max(before))),
        };
        if let MeterKind::Counter { step, .. } = &mut about.kind {
            *step = Joules(log.step.0 * seconds.max(1.0));
        }
        if log.gaps && !about.notes.iter().any(|note| note == GAPS) {
            about.notes.push(GAPS.into());
        }
        Ok(self.last)
    }
}

const GAPS: &str = "there are gaps in what the device measured";

impl Meter for NvmeMeter {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, clock: &dyn Clock) -> Result<Reading, MeterError> {
        let now = clock.now();
        match &mut self.interface {
            Interface::Log(counting) if counting.stands(now) => Ok(counting.last),
            Interface::Log(counting) => counting.take(&self.power.log()?, &mut self.about),
            Interface::Smart => match self.power.interval_power()? {
                Some(watts) => Ok(Reading {
                    at: clock.now(),
                    value: MeterValue::Power(watts),
                }),
                None => Err(MeterError::Removed {
                    what: format!("{}: the power in its SMART log", self.about.name),
                }),
            },
        }
    }
}

impl Drop for NvmeMeter {
    fn drop(&mut self) {
        if let Interface::Log(counting) = &self.interface
            && counting.ours
        {
            // The error cannot be reported; a device that continues to measure does no harm.
            let _ = self.power.stop();
        }
    }
}

#[cfg(test)]
mod tests;
