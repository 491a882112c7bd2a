//! One sensor, and its meter.

use crate::meter::{About, Meter, MeterError, MeterKind, MeterValue, Reading, Source};
use crate::root::Root;
use crate::{Boundary, Clock, Zone};
use joulio_units::{Joules, Nanos, Watts};

/// Power in watts from which on a reading is not believed: firmware shows an unknown power as 4.29 MW.
const MAX_WATTS: f64 = 1e6;

/// Quantity that a sensor measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Energy in microjoules.
    Energy,
    /// Power in microwatts.
    Power,
}

/// A sensor of a chip.
#[derive(Clone, Debug)]
pub(super) struct Sensor {
    /// `hwmon:CHIP/power1`.
    pub(super) name: String,
    pub(super) chip: String,
    pub(super) driver: String,
    /// Label of the sensor by its driver.
    pub(super) label: String,
    /// The accuracy that ACPI states: `95.5%`.
    pub(super) accuracy: Option<String>,
    pub(super) path: String,
    pub(super) quantity: Quantity,
    pub(super) update: Nanos,
}

impl Sensor {
    /// Makes a meter of the sensor, for `zone`.
    pub(super) fn meter(self, root: &Root, zone: Zone) -> Box<dyn Meter> {
        let kind = match self.quantity {
            Quantity::Energy => MeterKind::Counter {
                step: Joules(1e-6),
                update: self.update,
                wraps_after: None,
            },
            Quantity::Power => MeterKind::Power {
                step: Watts(1e-6),
                update: self.update,
            },
        };
        let accuracy = self
            .accuracy
            .map(|said| format!("accuracy {said} by its own account"));
        Box::new(SensorMeter {
            about: About {
                name: self.name,
                source: Source::Hwmon,
                zone,
                kind,
                slow: false,
                modelled: false,
                notes: accuracy.into_iter().collect(),
            },
            root: root.clone(),
            path: self.path,
            last: 0,
        })
    }
}

#[derive(Debug)]
struct SensorMeter {
    about: About,
    root: Root,
    path: String,
    /// Last count of a counter.
    last: u64,
}

impl Meter for SensorMeter {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, clock: &dyn Clock) -> Result<Reading, MeterError> {
        // A driver without a reading at the moment returns ENODATA or EAGAIN, which is temporary.
        let micro: u64 = self.root.number(&self.path)?;
        let at = clock.now();
        let value = match self.about.kind {
            MeterKind::Counter { .. } if micro < self.last => {
                let from = std::mem::replace(&mut self.last, micro);
                return Err(MeterError::WentBack {
                    what: self.path.clone(),
                    from,
                    to: micro,
                });
            }
            MeterKind::Counter { .. } => {
                self.last = micro;
                MeterValue::Total(Joules(micro as f64 / 1e6))
            }
            MeterKind::Power { .. } => MeterValue::Power(self.power(micro)?),
        };
        Ok(Reading { at, value })
    }
}

impl SensorMeter {
    /// Returns the power of `micro` microwatts. Firmware without a value shows 0 or all ones (`_PMM`, ACPI 10.4.1); a
    /// redundant power supply may draw nothing, the whole machine does not.
    fn power(&self, micro: u64) -> Result<Watts, MeterError> {
        let watts = micro as f64 / 1e6;
        let none = micro == 0 && self.about.zone == Zone::machine(Boundary::Wall);
        match none || watts >= MAX_WATTS {
            true => Err(MeterError::Failed {
                what: self.path.clone(),
                why: format!("the firmware has no value: '{micro}'"),
            }),
            false => Ok(Watts(watts)),
        }
    }
}
