//! An entry of the journal: something that was changed, with all that puts it back.

use crate::power_states::feature::{Feature, FeatureError};
use joulio_kernel_io::Knobs;
use joulio_kernel_io::knobs::{Change, KnobError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The version of the files. In 1 there were no numbers, and features of NVMe devices only.
const VERSION: u32 = 2;

/// An entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    version: u32,
    /// What is changed later has a higher one, and is put back sooner.
    pub number: u64,
    /// What is changed.
    pub what: What,
}

/// Something that is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum What {
    /// A feature of an NVMe controller.
    Feature(Feature),
    /// A setting of the kernel.
    Knob(KnobChange),
}

/// A setting of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnobChange {
    /// Where the file tree begins.
    pub root: PathBuf,
    /// What it was, and becomes.
    pub change: Change,
}

/// A change that could not be put back, and can be tried again.
#[derive(Debug, thiserror::Error)]
pub enum PutBackError {
    /// A setting of the kernel.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// A feature of an NVMe controller.
    #[error(transparent)]
    Feature(#[from] FeatureError),
}

impl Entry {
    /// One that is to be written.
    pub fn new(number: u64, what: What) -> Entry {
        Entry {
            version: VERSION,
            number,
            what,
        }
    }

    /// Reads one, which anybody may have written.
    pub fn parse(text: &str) -> Result<Entry, String> {
        /// Of any version.
        #[derive(Deserialize)]
        struct Any {
            version: u32,
        }
        let strange = |error| format!("not an entry of ours: {error}");
        let Any { version } = serde_json::from_str(text).map_err(strange)?;
        if version != VERSION {
            return Err(format!("an entry of version {version}, not {VERSION}"));
        }
        let entry: Entry = serde_json::from_str(text).map_err(strange)?;
        match &entry.what {
            What::Feature(feature) => feature.check()?,
            What::Knob(knob) => knob.change.check().map_err(|error| error.to_string())?,
        }
        Ok(entry)
    }
}

impl What {
    /// Whether `other` is the same feature of the same device, or the same setting.
    pub fn is_of_the_same(&self, other: &What) -> bool {
        self.file_name() == other.file_name()
    }

    /// The name of its file: one for what there is once, a feature of a device, a setting.
    pub fn file_name(&self) -> String {
        let (words, kind) = match self {
            What::Feature(Feature {
                device,
                serial,
                old,
            }) => (
                [device.as_bytes(), &[0], serial.as_bytes()].concat(),
                old.feature(),
            ),
            What::Knob(KnobChange { root, change }) => {
                let disk = change.knob().disk().unwrap_or_default();
                let root = root.as_os_str().as_encoded_bytes();
                ([root, &[0], disk.as_bytes()].concat(), change.knob().name())
            }
        };
        // FNV-1a: names may be long and hold anything.
        let hash = words
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        format!("{hash:016x}.{kind}.json")
    }

    /// Puts it back: what there is to tell of that.
    ///
    /// # Errors
    /// It could not be put back; that can be tried again.
    pub fn put_back(&self) -> Result<Vec<String>, PutBackError> {
        match self {
            What::Feature(feature) => {
                feature.put_back()?;
                Ok(vec![format!("{self} put back")])
            }
            What::Knob(knob) => {
                let left = knob.put_back()?;
                let old = knob.change.old();
                Ok(match left.is_empty() {
                    true => vec![format!("{self}: {old} put back")],
                    false => left,
                })
            }
        }
    }
}

impl KnobChange {
    /// Puts it back: what was left, and why.
    ///
    /// # Errors
    /// It could not be put back; that can be tried again.
    pub fn put_back(&self) -> Result<Vec<String>, KnobError> {
        let left = Knobs::at(&self.root).put_back(&self.change)?;
        let knob = self.change.knob();
        Ok(left.iter().map(|why| format!("{knob}: {why}")).collect())
    }
}

impl KnobChange {
    /// Whether either is of a file that the other is of, or that the kernel changes with it.
    pub fn touches(&self, other: &KnobChange) -> bool {
        self.root == other.root && self.change.touches(&other.change)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Feature(Feature { device, old, .. }) => {
                write!(f, "{device}: {}", old.describe())
            }
            What::Knob(knob) => knob.change.knob().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power_states::feature::Old;
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
            ("", "not an entry"),
            ("{}", "not an entry"),
            (r#"{"version":2}"#, "not an entry"),
            (&apst, "table of 1 entries"),
            (r#"{"version":1,"device":"x"}"#, "version 1"),
            (
                &KNOB.replace("sys/block/d/queue/nomerges", "etc/passwd"),
                "not a file of it",
            ),
        ] {
            let why = Entry::parse(text).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
        let entry = Entry::parse(good).unwrap();
        assert_eq!(entry.what.to_string(), "x: power state 1");
        let entry = Entry::parse(KNOB).unwrap();
        assert_eq!(
            (entry.what.to_string().as_str(), entry.number),
            ("nomerges of d", 3)
        );
    }

    #[test]
    fn a_file_is_one_features_of_one_device_or_one_setting() {
        let feature = |device: &str, serial: &str, old| {
            What::Feature(Feature {
                device: device.into(),
                serial: serial.into(),
                old,
            })
        };
        let knob = |text: &str| Entry::parse(text).unwrap().what.file_name();
        let state = |value| Old::PowerState { value };
        let name = feature("a", "b", state(0)).file_name();
        assert_eq!(name, feature("a", "b", state(3)).file_name());
        let apst = Old::Apst {
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
    }

    proptest! {
        #[test]
        fn no_text_panics(at in 0..KNOB.len(), with in ".{0,4}") {
            let text = format!("{}{with}{}", &KNOB[..at], &KNOB[(at + 1).min(KNOB.len())..]);
            let _ = Entry::parse(&text);
        }
    }
}
