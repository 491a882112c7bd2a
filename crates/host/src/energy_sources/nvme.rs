//! The meter in a storage device: its power measurement log, or the power in its SMART log.

use super::modelled::Modelled;
use crate::controller::SharedPowerControl;
use joulio_energy::{Clock, Meter, MeterError, NvmeMeter, NvmePower, PowerLogFields};
use joulio_nvme::NvmeError;
use joulio_nvme_spec::identify::PowerScale;
use joulio_units::Watts;
use std::fmt;

/// Opens the meter in the device `name`. The watts of an emulated device, in this process or behind a socket, are its
/// profile's, and marked as modelled.
///
/// # Errors
/// The device does not measure its power, or fails a command.
pub fn device_meter(
    name: &str,
    control: SharedPowerControl,
    clock: &dyn Clock,
) -> Result<Box<dyn Meter>, MeterError> {
    let emulated = control.is_emulated();
    let power = Power {
        name: name.into(),
        control,
    };
    let meter = NvmeMeter::open(Box::new(power), clock)?;
    Ok(match emulated {
        true => Box::new(Modelled::new(meter)),
        false => Box::new(meter),
    })
}

struct Power {
    name: String,
    control: SharedPowerControl,
}

impl fmt::Debug for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Power").field("name", &self.name).finish()
    }
}

impl Power {
    fn failed(&self, error: &NvmeError) -> MeterError {
        MeterError::Failed {
            what: self.name.clone(),
            why: error.to_string(),
        }
    }
}

fn watts(microwatts: u64) -> Watts {
    Watts(microwatts as f64 / 1e6)
}

impl NvmePower for Power {
    fn name(&self) -> &str {
        &self.name
    }

    fn measures(&self) -> bool {
        self.control.measures_power()
    }

    fn start(&mut self) -> Result<(), MeterError> {
        let started = self.control.start_power_measurement(0);
        started.map_err(|error| self.failed(&error))
    }

    fn stop(&mut self) -> Result<(), MeterError> {
        let stopped = self.control.stop_power_measurement();
        stopped.map_err(|error| self.failed(&error))
    }

    fn log(&mut self) -> Result<PowerLogFields, MeterError> {
        let log = self.control.power_measurement();
        let log = log.map_err(|error| self.failed(&error))?;
        let (attributes, average) = (log.attributes(), log.average());
        let step = match average.scale() {
            PowerScale::TenMilliwatts => Watts(1e-2),
            _ => Watts(1e-4),
        };
        Ok(PowerLogFields {
            generation: log.generation,
            measuring: attributes.enabled(),
            estimated: attributes.estimated(),
            gaps: attributes.non_contiguous(),
            intervals: log.count.get(),
            mean: average.microwatts().map(watts),
            step,
            percent_error: log.percent_error(),
        })
    }

    fn interval_power(&mut self) -> Result<Option<Watts>, MeterError> {
        let power = self.control.interval_power();
        let power = power.map_err(|error| self.failed(&error))?;
        Ok(power.map(watts))
    }
}
