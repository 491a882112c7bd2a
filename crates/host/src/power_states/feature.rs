//! A feature of a controller with its value before a change, and restoring it.

use super::{apst, coalescing};
use crate::controller::{
    AdminController, ControllerAddress, ControllerOpenError, ParseAddressError,
};
use crate::knobs::LeftAlone;
use crate::tree::Tree;
use joulio_nvme::{Cancel, NvmeError};
use joulio_nvme_spec::feature::{ApstTable, InterruptCoalescing, PowerManagement};
use joulio_nvme_spec::identify::PowerStateDescriptor;
use serde::{Deserialize, Serialize};
use std::iter;

/// Entries of a table of autonomous power state transitions, one for each power state.
const APST_ENTRIES: usize = 32;

/// Value of a feature.
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
    /// Value to restore.
    pub old: FeatureValue,
    /// Values that joulio has set since; empty in entries of earlier versions, which are restored whatever it is now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<FeatureValue>,
    /// Boot of the system for which it was set: a device forgets it with the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

/// Reason why a feature could not be restored.
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
        Ok(FeatureValue::of_apst(enabled, &table))
    }

    /// Reads feature 08h of `device`.
    ///
    /// # Errors
    /// The device fails the command.
    pub fn interrupt_coalescing(device: &AdminController) -> Result<FeatureValue, NvmeError> {
        let value = device.control().interrupt_coalescing()?.into();
        Ok(FeatureValue::InterruptCoalescing { value })
    }

    /// Returns transitions by the entries of `table`.
    pub(super) fn of_apst(enabled: bool, table: &ApstTable) -> FeatureValue {
        let entries = table.entries.iter().map(|entry| entry.get());
        FeatureValue::Apst {
            enabled,
            entries: entries.collect(),
        }
    }

    /// Reads the same feature of `device`.
    fn now(&self, device: &AdminController) -> Result<FeatureValue, NvmeError> {
        match self {
            FeatureValue::PowerState { .. } => FeatureValue::power_state(device),
            FeatureValue::InterruptCoalescing { .. } => FeatureValue::interrupt_coalescing(device),
            FeatureValue::Apst { .. } => FeatureValue::apst(device),
        }
    }

    /// Whether a device with the power states `states` may have this value after `set` was set, without another change.
    fn may_follow(&self, set: &FeatureValue, states: &[PowerStateDescriptor]) -> bool {
        match (self, set) {
            (FeatureValue::PowerState { value: now }, FeatureValue::PowerState { value: set }) => {
                let [now, set] = [now, set].map(|value| PowerManagement::from(*value).ps());
                // A device enters and leaves states that are not operational by itself.
                let sleeps = |ps: u8| {
                    let state = states.get(usize::from(ps));
                    state.is_none_or(|state| state.power_state_flags().nops())
                };
                now == set || sleeps(now) || sleeps(set)
            }
            (
                FeatureValue::InterruptCoalescing { value: now },
                FeatureValue::InterruptCoalescing { value: set },
            ) => {
                let [now, set] = [now, set].map(|value| InterruptCoalescing::from(*value));
                (now.thr(), now.time()) == (set.thr(), set.time())
            }
            (
                FeatureValue::Apst { enabled, entries },
                FeatureValue::Apst {
                    enabled: set,
                    entries: others,
                },
            ) => {
                let transitions =
                    |entries: &[u64]| apst::transitions(&apst_table(entries), states.len());
                // A table has no effect while the transitions are off.
                enabled == set && (!enabled || transitions(entries) == transitions(others))
            }
            _ => false,
        }
    }

    /// Sets the feature of `device` to this value again.
    ///
    /// # Errors
    /// The device fails the command.
    pub fn restore(&self, device: &AdminController) -> Result<(), NvmeError> {
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
                control.set_apst(*enabled, &apst_table(entries))
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
    /// Makes a change of the controller at `address`, which is open as `device`, from the value `old` to `new`.
    pub fn new(
        address: &ControllerAddress,
        device: &AdminController,
        old: FeatureValue,
        new: FeatureValue,
    ) -> FeatureChange {
        FeatureChange {
            device: address.to_lasting().to_string(),
            serial: device.serial(),
            old,
            new: vec![new],
            boot: Tree::at("/").boot(),
        }
    }

    /// Returns the record of this change, which is not restored yet, and of the `later` one of the same feature; `None`
    /// if this record is that.
    pub(crate) fn followed_by(&self, later: &FeatureChange) -> Option<FeatureChange> {
        if self.boot.is_some() && later.boot.is_some() && self.boot != later.boot {
            // The restart ended this one.
            return Some(later.clone());
        }
        let more = later.new.iter().filter(|value| !self.new.contains(value));
        let more: Vec<_> = more.cloned().collect();
        let is_other = !self.new.is_empty() && !more.is_empty();
        is_other.then(|| FeatureChange {
            new: [self.new.clone(), more].concat(),
            ..self.clone()
        })
    }

    /// Refuses what joulio does not write: the text may be anybody's.
    ///
    /// # Errors
    /// The table does not have as many entries as there are power states.
    pub fn check(&self) -> Result<(), FeatureError> {
        for value in iter::once(&self.old).chain(&self.new) {
            if let FeatureValue::Apst { entries, .. } = value
                && entries.len() != APST_ENTRIES
            {
                return Err(FeatureError::Table {
                    entries: entries.len(),
                });
            }
        }
        Ok(())
    }

    /// Opens the device, which must be the one that was changed, and sets the old value; `cancel` ends the wait for it.
    /// Returns the reason if the feature was left as it is: the system was restarted, or somebody else has changed it
    /// since.
    ///
    /// # Errors
    /// The device cannot be opened, is another one, or refuses.
    pub fn restore(&self, cancel: &Cancel) -> Result<Option<String>, FeatureError> {
        if let (Some(then), Some(now)) = (&self.boot, Tree::at("/").boot())
            && *then != now
        {
            return Ok(Some(LeftAlone::Restarted.to_string()));
        }
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
        Ok(self.restore_on(&device)?)
    }

    /// Sets the old value of `device`, as [`FeatureChange::restore`].
    pub(super) fn restore_on(&self, device: &AdminController) -> Result<Option<String>, NvmeError> {
        if !self.new.is_empty() {
            let now = self.old.now(device)?;
            let states = device.control().identify_controller().power_states();
            let mut known = iter::once(&self.old).chain(&self.new);
            if !known.any(|value| now.may_follow(value, states)) {
                let now = now.describe();
                return Ok(Some(format!("{now} now, which somebody else has set")));
            }
        }
        self.old.restore(device)?;
        Ok(None)
    }
}

/// Makes a table of transitions from its entries.
fn apst_table(entries: &[u64]) -> ApstTable {
    let mut table = ApstTable::default();
    for (entry, &value) in table.entries.iter_mut().zip(entries) {
        entry.set(value);
    }
    table
}
