//! State of a controller's power: its power state, its settings, its power draw.

use super::apst::{self, ApstTransition};
use crate::controller::AdminController;
use joulio_nvme::NvmeError;
use joulio_nvme_spec::feature::{InterruptCoalescing, PowerManagement};
use joulio_nvme_spec::identify::IdentifyController;
use joulio_nvme_spec::log::PowerMeasurementLog;
use joulio_units::Watts;

/// State of a controller's power.
#[derive(Clone, Debug)]
pub struct PowerStatus {
    /// Identify Controller, with the descriptors of its power states.
    pub identity: IdentifyController,
    /// Power state and workload hint (feature 02h).
    pub current: PowerManagement,
    /// State of autonomous transitions (feature 0Ch): whether they are on, and their list; `None` if the controller
    /// does not have the feature.
    pub apst: Option<(bool, Vec<ApstTransition>)>,
    /// Interrupt coalescing (feature 08h); `None` if the controller does not have the feature.
    pub coalescing: Option<InterruptCoalescing>,
    /// Power in the latest second, by the SMART log; `None` if it is not reported.
    pub interval_power: Option<Watts>,
    /// Power measurement log (log 25h); `None` if the controller does not have it.
    pub measurement: Option<PowerMeasurementLog>,
}

impl PowerStatus {
    /// Reads the controller's state. The power state is read first: other commands may wake a controller from a
    /// non-operational state.
    ///
    /// # Errors
    /// The controller fails a command.
    pub fn read(device: &AdminController) -> Result<PowerStatus, NvmeError> {
        let control = &**device.control();
        let current = control.power_management()?;
        let states = control.identify_controller().power_states().len();
        let apst = supported(control.apst())?;
        let watts = |microwatts: u64| Watts(microwatts as f64 / 1e6);
        Ok(PowerStatus {
            identity: *control.identify_controller(),
            current,
            apst: apst.map(|(on, table)| (on, apst::transitions(&table, states))),
            coalescing: supported(control.interrupt_coalescing())?,
            interval_power: control.interval_power()?.map(watts),
            measurement: supported(control.power_measurement())?,
        })
    }

    /// Reads the power measurement log again.
    ///
    /// # Errors
    /// The controller fails the command.
    pub fn read_measurement(&mut self, device: &AdminController) -> Result<(), NvmeError> {
        self.measurement = supported(device.control().power_measurement())?;
        Ok(())
    }
}

/// Turns the error of a feature that the device does not have into `None`.
fn supported<T>(result: Result<T, NvmeError>) -> Result<Option<T>, NvmeError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(NvmeError::NotSupported { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
