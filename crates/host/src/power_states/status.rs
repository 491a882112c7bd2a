//! State of a controller's power: where it idles, what it is set to, what it draws.

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
    /// State of transitions by idle time (feature 0Ch): true if they are on, and which there are;
    /// none where the controller does not have the feature.
    pub apst: Option<(bool, Vec<ApstTransition>)>,
    /// Interrupt coalescing (feature 08h); none where the controller does not have the feature.
    pub coalescing: Option<InterruptCoalescing>,
    /// Power in the latest second, by the SMART log; none where it is not reported.
    pub interval_power: Option<Watts>,
    /// Power measurement log (log 25h); none where the controller does not have it.
    pub measurement: Option<PowerMeasurementLog>,
}

impl PowerStatus {
    /// Reads the controller's state. The power state is read first: other commands may wake a
    /// controller that sleeps.
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

    /// Asks for the power measurement log once more.
    ///
    /// # Errors
    /// The controller fails the command.
    pub fn read_measurement(&mut self, device: &AdminController) -> Result<(), NvmeError> {
        self.measurement = supported(device.control().power_measurement())?;
        Ok(())
    }
}

/// None where the device does not have it.
fn supported<T>(result: Result<T, NvmeError>) -> Result<Option<T>, NvmeError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(NvmeError::NotSupported { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
