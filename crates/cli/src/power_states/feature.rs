//! What was changed on a device, and what it was.

use super::coalescing;
use super::port::{Port, PortName};
use joulio_lab::DeviceNameError;
use joulio_nvme::NvmeError;
use joulio_nvme_spec::feature::{ApstTable, InterruptCoalescing, PowerManagement};
use serde::{Deserialize, Serialize};

/// What was changed, and what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Old {
    /// Feature 02h.
    PowerState {
        /// Its value.
        value: u32,
    },
    /// Feature 08h.
    InterruptCoalescing {
        /// Its value.
        value: u32,
    },
    /// Feature 0Ch.
    Apst {
        /// APSTE.
        enabled: bool,
        /// The entries of the table.
        entries: Vec<u64>,
    },
}

/// A device, and what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// As it was named.
    pub device: String,
    /// Of the device that it was: another may have its name by now.
    pub serial: String,
    /// What is to be put back.
    pub old: Old,
}

/// A feature that could not be put back.
#[derive(Debug, thiserror::Error)]
pub enum FeatureError {
    /// The device cannot be opened.
    #[error("{0}")]
    Open(String),
    /// Another device has its name.
    #[error("{device}: another device has that name now: serial {found}, not {serial}")]
    Another {
        /// The name.
        device: String,
        /// The serial number of the one that was changed.
        serial: String,
        /// The serial number of the one that has that name.
        found: String,
    },
    /// The device refuses.
    #[error(transparent)]
    Device(#[from] NvmeError),
}

impl Old {
    /// Feature 02h of `port`.
    pub fn power_state(port: &Port) -> Result<Old, NvmeError> {
        let value = port.control.power_management()?.into();
        Ok(Old::PowerState { value })
    }

    /// Feature 0Ch of `port`.
    pub fn apst(port: &Port) -> Result<Old, NvmeError> {
        let (enabled, table) = port.control.apst()?;
        let entries = table.entries.iter().map(|entry| entry.get());
        Ok(Old::Apst {
            enabled,
            entries: entries.collect(),
        })
    }

    /// Feature 08h of `port`.
    pub fn interrupt_coalescing(port: &Port) -> Result<Old, NvmeError> {
        let value = port.control.interrupt_coalescing()?.into();
        Ok(Old::InterruptCoalescing { value })
    }

    /// Sets it on `port` again.
    pub fn put_back(&self, port: &Port) -> Result<(), NvmeError> {
        match self {
            Old::PowerState { value } => {
                let value = PowerManagement::from(*value);
                let states = port.control.identify_controller().power_states();
                let state = states.get(usize::from(value.ps()));
                if state.is_some_and(|state| state.power_state_flags().nops()) {
                    // It slept. Which state it would have woken to cannot be asked; that must not
                    // be the one that was set here, and hosts use no other than 0.
                    port.control.set_power_management(value.with_ps(0))?;
                }
                port.control.set_power_management(value)
            }
            Old::InterruptCoalescing { value } => {
                let value = InterruptCoalescing::from(*value);
                port.control.set_interrupt_coalescing(value)
            }
            Old::Apst { enabled, entries } => {
                let mut table = ApstTable::default();
                for (entry, &value) in table.entries.iter_mut().zip(entries) {
                    entry.set(value);
                }
                port.control.set_apst(*enabled, &table)
            }
        }
    }

    /// In words.
    pub fn describe(&self) -> String {
        match self {
            Old::PowerState { value } => {
                format!("power state {}", PowerManagement::from(*value).ps())
            }
            Old::InterruptCoalescing { value } => {
                let value = coalescing::describe(InterruptCoalescing::from(*value));
                format!("interrupt coalescing {value}")
            }
            Old::Apst { enabled: true, .. } => "apst on, with its table".into(),
            Old::Apst { enabled: false, .. } => "apst off, with its table".into(),
        }
    }

    /// What it is, in a file's name.
    pub fn feature(&self) -> &'static str {
        match self {
            Old::PowerState { .. } => "power-state",
            Old::InterruptCoalescing { .. } => "interrupt-coalescing",
            Old::Apst { .. } => "apst",
        }
    }
}

impl Feature {
    /// What `port` had before a change.
    pub fn new(port: &Port, old: Old) -> Feature {
        Feature {
            device: port.name.lasting(),
            serial: port.serial(),
            old,
        }
    }

    /// An error unless it is as we write it.
    pub fn check(&self) -> Result<(), String> {
        match &self.old {
            Old::Apst { entries, .. } if entries.len() != 32 => {
                Err(format!("a table of {} entries, not 32", entries.len()))
            }
            _ => Ok(()),
        }
    }

    /// Opens the device, which must be the one that it was, and sets the old value on it.
    ///
    /// # Errors
    /// It cannot be opened, is another one, or refuses.
    pub fn put_back(&self) -> Result<(), FeatureError> {
        let name = self
            .device
            .parse::<PortName>()
            .map_err(|error: DeviceNameError| FeatureError::Open(error.to_string()))?;
        let port = name.open();
        let port = port.map_err(|failure| FeatureError::Open(failure.message()))?;
        let found = port.serial();
        if found != self.serial {
            return Err(FeatureError::Another {
                device: self.device.clone(),
                serial: self.serial.clone(),
                found,
            });
        }
        Ok(self.old.put_back(&port)?)
    }
}
