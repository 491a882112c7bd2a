//! A feature of a controller with its value before a change, and putting it back.

use super::coalescing;
use crate::controller::{
    AdminController, ControllerAddress, ControllerOpenError, ParseAddressError,
};
use joulio_nvme::{Cancel, NvmeError};
use joulio_nvme_spec::feature::{ApstTable, InterruptCoalescing, PowerManagement};
use serde::{Deserialize, Serialize};

/// Entries of a table of autonomous power state transitions, one for each power state.
const APST_ENTRIES: usize = 32;

/// Value of a feature before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FeatureValue {
    /// Feature 02h, Power Management (Base 5.27.1.2).
    PowerState {
        /// Dword of the feature.
        value: u32,
    },
    /// Feature 08h, Interrupt Coalescing (Base 5.27.1.6).
    InterruptCoalescing {
        /// Dword of the feature.
        value: u32,
    },
    /// Feature 0Ch, Autonomous Power State Transition (Base 5.27.1.10).
    Apst {
        /// Whether transitions are on (APSTE).
        enabled: bool,
        /// Entries of the table, 32 of them.
        entries: Vec<u64>,
    },
}

/// A feature that was changed: of which device, and its value before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureChange {
    /// Address of the device, as [`ControllerAddress`] parses it.
    pub device: String,
    /// Serial number of the device that was changed: another device may have its address by now.
    pub serial: String,
    /// Value to put back.
    pub old: FeatureValue,
}

/// Reason why a feature could not be put back.
#[derive(Debug, thiserror::Error)]
pub enum FeatureError {
    /// The address is invalid: joulio did not write the entry.
    #[error(transparent)]
    Address(#[from] ParseAddressError),
    /// The table has another number of entries than there are power states.
    #[error("a table of {entries} entries, not {APST_ENTRIES}")]
    Table {
        /// Number of entries.
        entries: usize,
    },
    /// The device cannot be opened: return it to the driver that had it, and try again.
    #[error(transparent)]
    Open(#[from] ControllerOpenError),
    /// Another device has the address: nothing was changed on it.
    #[error("{device}: another device has that name now: serial {found}, not {serial}")]
    Another {
        /// Address of the device.
        device: String,
        /// Serial number of the device that was changed.
        serial: String,
        /// Serial number of the device that has the address now.
        found: String,
    },
    /// The device refuses the feature.
    #[error(transparent)]
    Device(#[from] NvmeError),
}

impl FeatureValue {
    /// Reads feature 02h of `device`.
    ///
    /// # Errors
    /// The device fails the command.
    pub fn power_state(device: &AdminController) -> Result<FeatureValue, NvmeError> {
        let value = device.control().power_management()?.into();
        Ok(FeatureValue::PowerState { value })
    }

    /// Reads feature 0Ch of `device`.
    ///
    /// # Errors
    /// The device does not have it, or fails the command.
    pub fn apst(device: &AdminController) -> Result<FeatureValue, NvmeError> {
        let (enabled, table) = device.control().apst()?;
        let entries = table.entries.iter().map(|entry| entry.get());
        Ok(FeatureValue::Apst {
            enabled,
            entries: entries.collect(),
        })
    }

    /// Reads feature 08h of `device`.
    ///
    /// # Errors
    /// The device fails the command.
    pub fn interrupt_coalescing(device: &AdminController) -> Result<FeatureValue, NvmeError> {
        let value = device.control().interrupt_coalescing()?.into();
        Ok(FeatureValue::InterruptCoalescing { value })
    }

    /// Sets the feature of `device` to this value again.
    ///
    /// # Errors
    /// The device fails the command.
    pub fn put_back(&self, device: &AdminController) -> Result<(), NvmeError> {
        let control = &**device.control();
        match self {
            FeatureValue::PowerState { value } => {
                let value = PowerManagement::from(*value);
                let states = control.identify_controller().power_states();
                let state = states.get(usize::from(value.ps()));
                if state.is_some_and(|state| state.power_state_flags().nops()) {
                    // It slept. Which state it would have woken to cannot be read; that must not
                    // be the one that was set here, and hosts use no other than 0.
                    control.set_power_management(value.with_ps(0))?;
                }
                control.set_power_management(value)
            }
            FeatureValue::InterruptCoalescing { value } => {
                let value = InterruptCoalescing::from(*value);
                control.set_interrupt_coalescing(value)
            }
            FeatureValue::Apst { enabled, entries } => {
                let mut table = ApstTable::default();
                for (entry, &value) in table.entries.iter_mut().zip(entries) {
                    entry.set(value);
                }
                control.set_apst(*enabled, &table)
            }
        }
    }

    /// Describes the feature and its value: `power state 3`.
    pub fn describe(&self) -> String {
        match self {
            FeatureValue::PowerState { value } => {
                format!("power state {}", PowerManagement::from(*value).ps())
            }
            FeatureValue::InterruptCoalescing { value } => {
                let value = coalescing::describe(InterruptCoalescing::from(*value));
                format!("interrupt coalescing {value}")
            }
            FeatureValue::Apst { enabled: true, .. } => "apst on, with its table".into(),
            FeatureValue::Apst { enabled: false, .. } => "apst off, with its table".into(),
        }
    }

    /// Returns the name of the feature as used in file names.
    pub fn feature(&self) -> &'static str {
        match self {
            FeatureValue::PowerState { .. } => "power-state",
            FeatureValue::InterruptCoalescing { .. } => "interrupt-coalescing",
            FeatureValue::Apst { .. } => "apst",
        }
    }
}

impl FeatureChange {
    /// Makes a change of the controller at `address`, which is open as `device` and has the value `old` before it.
    pub fn new(
        address: &ControllerAddress,
        device: &AdminController,
        old: FeatureValue,
    ) -> FeatureChange {
        FeatureChange {
            device: address.to_lasting().to_string(),
            serial: device.serial(),
            old,
        }
    }

    /// Refuses what joulio does not write: the text may be anybody's.
    ///
    /// # Errors
    /// The table does not have as many entries as there are power states.
    pub fn check(&self) -> Result<(), FeatureError> {
        match &self.old {
            FeatureValue::Apst { entries, .. } if entries.len() != APST_ENTRIES => {
                Err(FeatureError::Table {
                    entries: entries.len(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Opens the device, which must be the one that was changed, and sets the old value; `cancel`
    /// ends the wait for it.
    ///
    /// # Errors
    /// The device cannot be opened, is another one, or refuses.
    pub fn put_back(&self, cancel: &Cancel) -> Result<(), FeatureError> {
        let address = self.device.parse()?;
        let device = AdminController::open(&self.device, address, cancel.clone())?;
        let found = device.serial();
        if found != self.serial {
            return Err(FeatureError::Another {
                device: self.device.clone(),
                serial: self.serial.clone(),
                found,
            });
        }
        Ok(self.old.put_back(&device)?)
    }
}
