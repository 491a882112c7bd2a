//! Power of a controller, whichever driver owns it: power states, autonomous transitions after idle time, and the
//! controller's own measurement of its power.

use crate::quirks::Quirks;
use crate::{IdleStates, NvmeError};
use joulio_device::AdminData;
use joulio_device::pci::PciId;
use joulio_nvme_spec::feature::{
    ApstTable, FeatureId, HostMemoryAttributes, HostMemoryBuffer, InterruptCoalescing,
    PowerManagement, PowerMeasurement,
};
use joulio_nvme_spec::identify::{EMULATED_SUBNQN, IdentifyController};
use joulio_nvme_spec::log::{LogId, PowerMeasurementLog, SmartHealth};
use joulio_nvme_spec::{Command, NamespaceId, PAGE_SIZE, Status};
use zerocopy::{FromZeros, IntoBytes};

const MEASUREMENT: &str = "Power Measurement (log 25h, feature 25h)";
const COALESCING: &str = "Interrupt Coalescing (feature 08h)";
const HOST_MEMORY: &str = "Host Memory Buffer (feature 0Dh)";
const APST: &str = "Autonomous Power State Transition (feature 0Ch)";

/// Power control of a controller.
///
/// Implemented for [`crate::Controller`] and [`crate::KernelController`]. The device does not save settings. A
/// [`crate::Controller`] sets them again after its resets, and lists those that it could not
/// ([`crate::Controller::lost_features`]); a measurement ends with a reset.
pub trait PowerControl {
    /// Name of the device.
    fn device_name(&self) -> &str;

    /// Identify Controller data structure, as of when the controller was opened.
    fn identify_controller(&self) -> &IdentifyController;

    /// PCI identifiers of the controller; `None` if it is no PCI function, or they are not known.
    fn pci_id(&self) -> Option<PciId> {
        None
    }

    /// Whether the controller says that joulio emulates it, in this process or behind a vfio-user socket: its power is
    /// modelled.
    fn is_emulated(&self) -> bool {
        let subnqn = &self.identify_controller().subnqn;
        subnqn.starts_with(EMULATED_SUBNQN.as_bytes())
    }

    /// Returns the power states to which this drive may go by itself after idle time, as far as its identifiers and its
    /// model say. Nothing checks the tables that are set.
    fn idle_states(&self) -> IdleStates {
        let quirks = Quirks::of(self.pci_id());
        quirks.with_model(self.identify_controller()).idle_states
    }

    /// Executes an admin command and returns dword 0 of its completion.
    ///
    /// # Errors
    /// The controller refuses the command, which the error calls `name`, or does not answer.
    fn admin(
        &self,
        name: &'static str,
        command: Command,
        data: AdminData<'_>,
    ) -> Result<u32, NvmeError>;

    /// Reads feature 02h (Base 5.27.1.2): the power state, and the workload hint. Reading may wake a
    /// controller that sleeps.
    ///
    /// # Errors
    /// As [`PowerControl::admin`].
    fn power_management(&self) -> Result<PowerManagement, NvmeError> {
        let get = Command::get_features(FeatureId::POWER_MANAGEMENT);
        let value = self.admin("Get Features (Power Management)", get, AdminData::None)?;
        Ok(PowerManagement::from(value))
    }

    /// Reads the power state.
    ///
    /// # Errors
    /// As [`PowerControl::admin`].
    fn power_state(&self) -> Result<u8, NvmeError> {
        Ok(self.power_management()?.ps())
    }

    /// Sets feature 02h; a power state that Identify does not have is refused before it is sent.
    ///
    /// # Errors
    /// As [`PowerControl::admin`]; [`NvmeError::Unsupported`] without such a power state.
    fn set_power_management(&self, value: PowerManagement) -> Result<(), NvmeError> {
        self.check_power_state(value.ps())?;
        let set = Command::set_features(FeatureId::POWER_MANAGEMENT, value.into());
        self.admin("Set Features (Power Management)", set, AdminData::None)?;
        Ok(())
    }

    /// Sets power state `ps`, and leaves the workload hint.
    ///
    /// # Errors
    /// As [`PowerControl::set_power_management`].
    fn set_power_state(&self, ps: u8) -> Result<(), NvmeError> {
        // PS has 5 bits: a larger number must not become another state.
        self.check_power_state(ps)?;
        self.set_power_management(self.power_management()?.with_ps(ps))
    }

    /// Checks that Identify has power state `ps`.
    ///
    /// # Errors
    /// [`NvmeError::Unsupported`] if not.
    fn check_power_state(&self, ps: u8) -> Result<(), NvmeError> {
        let states = self.identify_controller().power_states().len();
        if usize::from(ps) < states {
            return Ok(());
        }
        Err(NvmeError::Unsupported {
            device: self.device_name().into(),
            what: format!("no power state {ps}: it has 0 to {}", states - 1),
        })
    }

    /// Reads feature 0Ch (Base 5.27.1.10): whether autonomous transitions are on, and their table.
    ///
    /// # Errors
    /// As [`PowerControl::admin`]; [`NvmeError::NotSupported`] without APST.
    fn apst(&self) -> Result<(bool, Box<ApstTable>), NvmeError> {
        self.needs(self.identify_controller().has_apst(), APST)?;
        let get = Command::get_features(FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION);
        let mut table = Box::new(ApstTable::new_zeroed());
        let data = AdminData::In(table.as_mut_bytes());
        let enabled = self.admin("Get Features (APST)", get, data)?;
        Ok((enabled & 1 != 0, table))
    }

    /// Reads how many bytes of host memory the controller has (feature 0Dh, Base 5.27.1.11); 0 while it has none.
    ///
    /// # Errors
    /// As [`PowerControl::admin`]; [`NvmeError::NotSupported`] for a controller that wants none (HMPRE 0).
    fn host_memory_bytes(&self) -> Result<u64, NvmeError> {
        self.needs(self.identify_controller().hmpre.get() > 0, HOST_MEMORY)?;
        let get = Command::get_features(FeatureId::HOST_MEMORY_BUFFER);
        let mut attributes = HostMemoryAttributes::new_zeroed();
        let data = AdminData::In(attributes.as_mut_bytes());
        let control = self.admin("Get Features (Host Memory Buffer)", get, data)?;
        let lent = HostMemoryBuffer::from(control).ehm();
        let bytes = u64::from(attributes.hsize.get()) * PAGE_SIZE as u64;
        Ok(if lent { bytes } else { 0 })
    }

    /// Sets feature 0Ch.
    ///
    /// # Errors
    /// As [`PowerControl::apst`].
    fn set_apst(&self, enabled: bool, table: &ApstTable) -> Result<(), NvmeError> {
        self.needs(self.identify_controller().has_apst(), APST)?;
        let fid = FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION;
        let set = Command::set_features(fid, enabled.into());
        self.admin("Set Features (APST)", set, AdminData::Out(table.as_bytes()))?;
        Ok(())
    }

    /// Reads feature 08h (Base 5.27.1.6): the number of completions and the time for which an interrupt waits.
    ///
    /// # Errors
    /// As [`PowerControl::admin`]; [`NvmeError::NotSupported`] without interrupts.
    fn interrupt_coalescing(&self) -> Result<InterruptCoalescing, NvmeError> {
        let get = Command::get_features(FeatureId::INTERRUPT_COALESCING);
        match self.admin("Get Features (Interrupt Coalescing)", get, AdminData::None) {
            // Controllers that are reached over a network have no interrupts.
            Err(NvmeError::Admin { status, .. }) if status.kind() == Status::INVALID_FIELD => {
                Err(NvmeError::NotSupported {
                    device: self.device_name().into(),
                    what: COALESCING,
                })
            }
            other => other.map(InterruptCoalescing::from),
        }
    }

    /// Sets feature 08h. It applies to every vector for which feature 09h does not disable it, and a device may round
    /// it.
    ///
    /// # Errors
    /// As [`PowerControl::admin`].
    fn set_interrupt_coalescing(&self, value: InterruptCoalescing) -> Result<(), NvmeError> {
        let set = Command::set_features(FeatureId::INTERRUPT_COALESCING, value.into());
        self.admin("Set Features (Interrupt Coalescing)", set, AdminData::None)?;
        Ok(())
    }

    /// Reports whether the controller measures its power (CTRATT.PMS).
    fn measures_power(&self) -> bool {
        self.identify_controller().attributes().pms()
    }

    /// Starts a new measurement of the power of the whole device; it stops by itself after `minutes`, or never if
    /// that is 0.
    ///
    /// # Errors
    /// The controller does not measure, or refuses the feature.
    fn start_power_measurement(&self, minutes: u16) -> Result<(), NvmeError> {
        let start = PowerMeasurement::new().with_act(PowerMeasurement::START);
        self.set_power_measurement(start.with_smt(minutes))
    }

    /// Stops measuring; the log keeps the results.
    ///
    /// # Errors
    /// The controller does not measure, or refuses the feature.
    fn stop_power_measurement(&self) -> Result<(), NvmeError> {
        self.set_power_measurement(PowerMeasurement::new())
    }

    /// Sets feature 25h.
    ///
    /// # Errors
    /// As [`PowerControl::admin`]; [`NvmeError::NotSupported`] without power measurement.
    fn set_power_measurement(&self, value: PowerMeasurement) -> Result<(), NvmeError> {
        self.needs(self.measures_power(), MEASUREMENT)?;
        let set = Command::set_features(FeatureId::POWER_MEASUREMENT, value.into());
        self.admin("Set Features (Power Measurement)", set, AdminData::None)?;
        Ok(())
    }

    /// Reads log page 25h without its histogram.
    ///
    /// # Errors
    /// As [`PowerControl::set_power_measurement`].
    fn power_measurement(&self) -> Result<PowerMeasurementLog, NvmeError> {
        self.needs(self.measures_power(), MEASUREMENT)?;
        let mut log = PowerMeasurementLog::new_zeroed();
        let bytes = size_of::<PowerMeasurementLog>();
        let get = Command::get_log_page(LogId::POWER_MEASUREMENT, NamespaceId::ALL, bytes);
        let data = AdminData::In(log.as_mut_bytes());
        match self.admin("Get Log Page (Power Measurement)", get, data) {
            // The controller reports the log, but does not have it.
            Err(NvmeError::Admin { status, .. }) if status.kind() == Status::INVALID_LOG_PAGE => {
                self.needs(false, MEASUREMENT)?;
            }
            other => _ = other?,
        }
        Ok(log)
    }

    /// Reads the SMART log's interval power in microwatts, the mean of the second before; None where
    /// it is not reported.
    ///
    /// # Errors
    /// As [`PowerControl::admin`].
    fn interval_power(&self) -> Result<Option<u64>, NvmeError> {
        let mut log = Box::new(SmartHealth::new_zeroed());
        let bytes = size_of::<SmartHealth>();
        let get = Command::get_log_page(LogId::SMART_HEALTH, NamespaceId::ALL, bytes);
        let data = AdminData::In(log.as_mut_bytes());
        self.admin("Get Log Page (SMART)", get, data)?;
        Ok(log.power().microwatts())
    }

    /// Checks that the device `has` the feature called `what`.
    ///
    /// # Errors
    /// [`NvmeError::NotSupported`] if not.
    fn needs(&self, has: bool, what: &'static str) -> Result<(), NvmeError> {
        if has {
            return Ok(());
        }
        Err(NvmeError::NotSupported {
            device: self.device_name().into(),
            what,
        })
    }
}

#[cfg(test)]
mod tests;
