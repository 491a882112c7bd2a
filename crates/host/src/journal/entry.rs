//! An entry of the journal: a change, with all that is needed to restore the old value.

use crate::knobs::{KnobError, KnobPlan, Knobs};
use crate::power_states::feature::{FeatureChange, FeatureError};
use joulio_nvme::Cancel;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::{fmt, io};

/// Version of the files. Version 1 had no numbers, and only features of NVMe devices.
const VERSION: u32 = 2;

/// An entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalEntry {
    version: u32,
    /// Number of the change: later changes have higher numbers, and are restored first.
    pub number: u64,
    /// The change that was made, or was about to be.
    #[serde(rename = "what")]
    pub change: RecordedChange,
}

/// A change as it is recorded, with the value that it replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RecordedChange {
    /// Change of a feature of an NVMe controller.
    Feature(FeatureChange),
    /// Change of a setting of the kernel.
    Knob(KnobChange),
}

/// A change of a setting of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnobChange {
    /// Root of the file tree: `/`, or a captured one.
    pub root: PathBuf,
    /// Files with their old and new values.
    pub change: KnobPlan,
    /// Whether the change is to outlast its run: later runs leave it, and `joulio restore` restores it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stays: bool,
}

/// Reason why a change could not be restored; it can be tried again.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The kernel refuses the old value of its setting.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// A feature of an NVMe controller could not be set.
    #[error(transparent)]
    Feature(#[from] FeatureError),
}

/// Reason why a file is no entry of the journal: read it, and remove it.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// A directory, fifo or device has its name.
    #[error("not a regular file")]
    NotRegular,
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The text is not what joulio writes.
    #[error("not an entry of joulio's journal: {0}")]
    Text(#[from] serde_json::Error),
    /// Another version of joulio has written it.
    #[error("an entry of version {found}, not {VERSION}")]
    Version {
        /// Version of the file.
        found: u32,
    },
    /// The feature's value is not what joulio writes.
    #[error(transparent)]
    Feature(#[from] FeatureError),
    /// The files are not those of the setting.
    #[error(transparent)]
    Knob(#[from] KnobError),
}

impl JournalEntry {
    /// Makes an entry that is to be written.
    pub(super) fn new(number: u64, change: RecordedChange) -> JournalEntry {
        JournalEntry {
            version: VERSION,
            number,
            change,
        }
    }

    /// Parses an entry, which anybody may have written.
    pub(super) fn parse(text: &str) -> Result<JournalEntry, EntryError> {
        /// Entry of any version.
        #[derive(Deserialize)]
        struct AnyVersion {
            version: u32,
        }
        let AnyVersion { version: found } = serde_json::from_str(text)?;
        if found != VERSION {
            return Err(EntryError::Version { found });
        }
        let entry: JournalEntry = serde_json::from_str(text)?;
        match &entry.change {
            RecordedChange::Feature(feature) => feature.check()?,
            RecordedChange::Knob(knob) => knob.change.check()?,
        }
        Ok(entry)
    }
}

impl RecordedChange {
    /// Whether `other` changes the same feature of the same device, or the same setting.
    pub fn is_of_the_same(&self, other: &RecordedChange) -> bool {
        self.file_name() == other.file_name()
    }

    /// Returns the name of the entry's file: one for each feature of a device, and one for each setting; another for a
    /// setting that stays, which a run may change for a while.
    pub fn file_name(&self) -> String {
        let (words, kind) = match self {
            RecordedChange::Feature(FeatureChange {
                device,
                serial,
                old,
                ..
            }) => (
                [device.as_bytes(), &[0], serial.as_bytes()].concat(),
                old.feature().to_owned(),
            ),
            RecordedChange::Knob(KnobChange {
                root,
                change,
                stays,
            }) => {
                let instance = change.knob().instance();
                let root = root.as_os_str().as_encoded_bytes();
                let stays = if *stays { ".stays" } else { "" };
                (
                    [root, &[0], instance.as_bytes()].concat(),
                    format!("{}{stays}", change.knob().name()),
                )
            }
        };
        // FNV-1a, since names may be long and contain any character.
        let hash = words
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        format!("{hash:016x}.{kind}.json")
    }

    /// Returns the record of this change and of the `later` one of the same; `None` if this record is that.
    pub(super) fn followed_by(&self, later: &RecordedChange) -> Option<RecordedChange> {
        match (self, later) {
            (RecordedChange::Feature(one), RecordedChange::Feature(later)) => {
                one.followed_by(later).map(RecordedChange::Feature)
            }
            _ => None,
        }
    }

    /// Returns the change as it is to be recorded before it is restored; `None` if it needs no other record than it
    /// has.
    pub(super) fn restoring(&self) -> Option<RecordedChange> {
        let RecordedChange::Knob(knob) = self else {
            return None;
        };
        let change = Knobs::at(&knob.root).restoring(&knob.change)?;
        Some(RecordedChange::Knob(KnobChange {
            change,
            ..knob.clone()
        }))
    }

    /// Restores the old value, and returns lines that say so. `cancel` ends the wait for a
    /// controller.
    ///
    /// # Errors
    /// The old value could not be restored; that can be tried again.
    pub fn restore(&self, cancel: &Cancel) -> Result<Vec<String>, RestoreError> {
        match self {
            RecordedChange::Feature(feature) => Ok(vec![match feature.restore(cancel)? {
                None => format!("{self} restored"),
                Some(why) => format!("{self} not restored: {why}"),
            }]),
            RecordedChange::Knob(knob) => {
                let left = knob.restore()?;
                let old = knob.change.old();
                Ok(match left.is_empty() {
                    true => vec![format!("{self}: {old} restored")],
                    false => left,
                })
            }
        }
    }
}

impl KnobChange {
    /// Restores the old value, and returns a line for each file that was left as it is, and why.
    ///
    /// # Errors
    /// The old value could not be restored; that can be tried again.
    pub fn restore(&self) -> Result<Vec<String>, KnobError> {
        let left = Knobs::at(&self.root).restore(&self.change)?;
        let knob = self.change.knob();
        Ok(left.iter().map(|why| format!("{knob}: {why}")).collect())
    }

    /// Whether either change is of a file that the other one changes, or that the kernel changes with it.
    pub fn touches(&self, other: &KnobChange) -> bool {
        self.root == other.root && self.change.touches(&other.change)
    }
}

impl fmt::Display for RecordedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordedChange::Feature(FeatureChange { device, old, .. }) => {
                write!(f, "{device}: {}", old.describe())
            }
            RecordedChange::Knob(knob) => knob.change.knob().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power_states::feature::FeatureValue;
    use proptest::prelude::*;

    const KNOB: &str = r#"{"version":2,"number":3,"what":{"knob":{"root":"/","change":{
        "knob":{"queue":{"disk":"d","setting":"nomerges"}},"value":"2","boot":"b",
        "parts":[{"file":"sys/block/d/queue/nomerges","folder":7,"old":"0","new":"2"}],"along":[]}}}}"#;

    #[test]
    fn what_is_no_entry_is_said_to_be_none() {
        let good = r#"{"version":2,"number":1,"what":{"feature":{"device":"x","serial":"S","old":{"power-state":{"value":1}}}}}"#;
        let apst = good.replace(
            r#""power-state":{"value":1}"#,
            r#""apst":{"enabled":true,"entries":[1]}"#,
        );
        for (text, says) in [
            ("", "not an entry of joulio's journal"),
            ("{}", "not an entry of joulio's journal"),
            (r#"{"version":2}"#, "not an entry of joulio's journal"),
            (&apst, "table of 1 entries"),
            (r#"{"version":1,"device":"x"}"#, "version 1"),
            (
                &KNOB.replace("sys/block/d/queue/nomerges", "etc/passwd"),
                "does not belong to this setting",
            ),
        ] {
            let why = JournalEntry::parse(text).unwrap_err().to_string();
            assert!(why.contains(says), "{why}");
        }
        let entry = JournalEntry::parse(good).unwrap();
        assert_eq!(entry.change.to_string(), "x: power state 1");
        let entry = JournalEntry::parse(KNOB).unwrap();
        assert_eq!(
            (entry.change.to_string().as_str(), entry.number),
            ("nomerges of d", 3)
        );
    }

    #[test]
    fn a_file_is_one_features_of_one_device_or_one_setting() {
        let feature = |device: &str, serial: &str, old| {
            RecordedChange::Feature(FeatureChange {
                device: device.into(),
                serial: serial.into(),
                old,
                new: Vec::new(),
                boot: None,
            })
        };
        let knob = |text: &str| JournalEntry::parse(text).unwrap().change.file_name();
        let state = |value| FeatureValue::PowerState { value };
        let name = feature("a", "b", state(0)).file_name();
        assert_eq!(name, feature("a", "b", state(3)).file_name());
        let apst = FeatureValue::Apst {
            enabled: true,
            entries: vec![0; 32],
        };
        for other in [
            feature("a", "c", state(0)),
            feature("ab", "", state(0)),
            feature("a", "b", apst),
        ] {
            assert_ne!(name, other.file_name());
        }
        assert_eq!(knob(KNOB), knob(&KNOB.replace("\"0\"", "\"1\"")));
        let other = KNOB.replace("\"d\"", "\"e\"").replace("block/d", "block/e");
        assert_ne!(knob(KNOB), knob(&other));
        assert_ne!(knob(KNOB), knob(&KNOB.replace("nomerges", "scheduler")));
        let stays = KNOB.replace(r#""along":[]"#, r#""along":[]},"stays":true"#);
        let stays = stays.replacen("}}}}", "}}}", 1);
        assert_eq!(
            knob(&stays).strip_suffix(".stays.json"),
            knob(KNOB).strip_suffix(".json")
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(at in 0..KNOB.len(), with in ".{0,4}") {
            let text = format!("{}{with}{}", &KNOB[..at], &KNOB[(at + 1).min(KNOB.len())..]);
            let _ = JournalEntry::parse(&text);
        }
    }
}
