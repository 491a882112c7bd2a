//! What was changed on a device, and what it was.

use super::port::Port;
use joulio_nvme::NvmeError;
use joulio_nvme_spec::feature::{ApstTable, PowerManagement};
use serde::{Deserialize, Serialize};

/// The version of the files.
const VERSION: u32 = 1;

/// What was changed, and what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Old {
    /// Feature 02h.
    PowerState {
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

/// An entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    version: u32,
    /// As it was named.
    pub device: String,
    /// Of the device that it was: another may have its name by now.
    pub serial: String,
    /// What is to be put back.
    pub old: Old,
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
            Old::Apst { enabled: true, .. } => "apst on, with its table".into(),
            Old::Apst { enabled: false, .. } => "apst off, with its table".into(),
        }
    }

    /// What it is, in a file's name.
    pub fn feature(&self) -> &'static str {
        match self {
            Old::PowerState { .. } => "power-state",
            Old::Apst { .. } => "apst",
        }
    }
}

impl Entry {
    /// What `port` had before a change.
    pub fn new(port: &Port, old: Old) -> Entry {
        Entry {
            version: VERSION,
            device: port.name.lasting(),
            serial: port.serial(),
            old,
        }
    }

    /// The name of its file: one for what there is once, a feature of a device.
    pub fn file_name(&self) -> String {
        let words = [self.device.as_bytes(), &[0], self.serial.as_bytes()].concat();
        // FNV-1a: names may be long and hold anything.
        let hash = words
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        format!("{hash:016x}.{}.json", self.old.feature())
    }

    /// Reads one, which anybody may have written.
    pub fn parse(text: &str) -> Result<Entry, String> {
        let entry: Entry =
            serde_json::from_str(text).map_err(|error| format!("not an entry of ours: {error}"))?;
        if entry.version != VERSION {
            return Err(format!(
                "an entry of version {}, not {VERSION}",
                entry.version
            ));
        }
        if let Old::Apst { entries, .. } = &entry.old
            && entries.len() != 32
        {
            return Err(format!("a table of {} entries, not 32", entries.len()));
        }
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_entry_is_said_to_be_none() {
        let apst = r#"{"version":1,"device":"x","serial":"S","old":{"apst":{"enabled":true,"entries":[1]}}}"#;
        let newer = r#"{"version":2,"device":"x","serial":"S","old":{"power-state":{"value":1}}}"#;
        for (text, says) in [
            ("", "not an entry"),
            ("{}", "not an entry"),
            (apst, "table of 1 entries"),
            (newer, "version 2"),
        ] {
            let why = Entry::parse(text).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
        let good = newer.replace("\"version\":2", "\"version\":1");
        assert_eq!(
            Entry::parse(&good).unwrap().old,
            Old::PowerState { value: 1 }
        );
    }

    #[test]
    fn a_file_is_one_features_of_one_device() {
        let entry = |device: &str, serial: &str, old| Entry {
            version: VERSION,
            device: device.into(),
            serial: serial.into(),
            old,
        };
        let state = |value| Old::PowerState { value };
        let name = entry("a", "b", state(0)).file_name();
        assert_eq!(name, entry("a", "b", state(3)).file_name());
        let apst = Old::Apst {
            enabled: true,
            entries: vec![0; 32],
        };
        for other in [
            entry("a", "c", state(0)),
            entry("ab", "", state(0)),
            entry("a", "b", apst),
        ] {
            assert_ne!(name, other.file_name());
        }
    }
}
