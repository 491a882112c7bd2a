//! A planned change of a setting: its files with their old and new values.

use super::error::KnobError;
use super::irq;
use super::knob::{Knob, Setting};
use super::reading::KnobValues;
use crate::tree::Tree;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Component, Path};

/// A planned change of a setting, with all that is needed to restore the old values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnobPlan {
    pub(super) knob: Knob,
    /// Value that was requested.
    pub(super) value: String,
    /// Boot of the system for which it was made: after the next one the change is gone.
    pub(super) boot: Option<String>,
    /// Files that are written, in this order.
    pub(super) parts: Vec<Part>,
    /// Files that the kernel may change by itself with these.
    pub(super) along: Vec<Along>,
    /// Whether restoring has begun: files that already have their old values were restored by joulio.
    #[serde(
        default,
        rename = "undoing",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub(super) restoring: bool,
}

/// A file and its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// Path below the root.
    pub file: String,
    /// Identity of its directory: see [`Tree::folder`].
    pub folder: u64,
    pub old: String,
    pub new: String,
}

/// A file whose value the kernel may reset with the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Along {
    pub file: String,
    pub old: String,
}

impl KnobPlan {
    pub(super) fn new(
        knob: Knob,
        value: String,
        boot: Option<String>,
        parts: Vec<Part>,
        along: Vec<Along>,
    ) -> KnobPlan {
        KnobPlan {
            knob,
            value,
            boot,
            parts,
            along,
            restoring: false,
        }
    }

    /// Returns the setting that it changes.
    pub fn knob(&self) -> &Knob {
        &self.knob
    }

    /// Returns the value that it sets.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the value before the change; if CPUs differ, all values with commas.
    pub fn old(&self) -> String {
        distinct(self.parts.iter().map(|part| part.old.as_str()))
    }

    /// Whether everything has its value already.
    pub fn is_none(&self) -> bool {
        self.parts.iter().all(|part| part.old == part.new)
    }

    /// Whether either plan is of a file that the other one changes, or that the kernel changes with it.
    pub fn touches(&self, other: &KnobPlan) -> bool {
        let parts =
            |change: &KnobPlan, file: &str| change.parts.iter().any(|part| part.file == file);
        let all = |change: &KnobPlan, file: &str| {
            parts(change, file) || change.along.iter().any(|along| along.file == file)
        };
        self.parts.iter().any(|part| all(other, &part.file))
            || other.parts.iter().any(|part| all(self, &part.file))
    }

    /// Refuses a plan with files that are not its setting's: it may come from anywhere.
    ///
    /// # Errors
    /// A file is not the setting's.
    pub fn check(&self) -> Result<(), KnobError> {
        let files = self.parts.iter().map(|part| &part.file);
        let along = self.along.iter().map(|along| &along.file);
        let strange = files.chain(along).find(|file| !owns(&self.knob, file));
        strange.map_or(Ok(()), |file| {
            Err(KnobError::ForeignFile {
                knob: self.knob.clone(),
                file: file.clone(),
            })
        })
    }
}

impl Part {
    pub(super) fn of(tree: &Tree, file: String, new: String) -> Result<Part, KnobError> {
        let read = |file: &str| Ok((tree.folder(file)?, tree.value(file)?));
        match read(&file) {
            Ok((folder, old)) => Ok(Part {
                file,
                folder,
                old,
                new,
            }),
            Err(source) => Err(KnobError::Read {
                path: tree.path(&file),
                source,
            }),
        }
    }

    /// Writes the new value and reads it back.
    pub(super) fn make(
        &self,
        tree: &Tree,
        knob: &Knob,
        offered: impl Fn() -> Option<KnobValues>,
    ) -> Result<(), KnobError> {
        if self.old == self.new {
            return Ok(());
        }
        let result = set(tree, &self.file, &self.new);
        match result {
            Err(KnobError::NotTaken { .. }) => {
                // Whatever the kernel made of it is not to stay, and is not known to whoever restores
                // the old value. The first error is the one to report.
                let _ = set(tree, &self.file, &self.old);
            }
            // The scheduler could have been loaded, and is not there to be.
            Err(KnobError::Write { .. }) if is_scheduler(knob) => {
                if let Some(allowed) = offered() {
                    return Err(KnobError::NotAllowed {
                        knob: knob.clone(),
                        value: self.new.clone(),
                        allowed,
                    });
                }
            }
            _ => {}
        }
        result.map_err(|source| match hint(knob) {
            Some(hint) => KnobError::Hinted {
                source: Box::new(source),
                hint,
            },
            None => source,
        })
    }
}

/// Writes a value and reads it back.
pub(super) fn set(tree: &Tree, file: &str, value: &str) -> Result<(), KnobError> {
    let path = || tree.path(file);
    tree.write(file, value)
        .map_err(|source| match source.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                KnobError::Permission { path: path() }
            }
            _ => KnobError::Write {
                path: path(),
                value: value.into(),
                source,
            },
        })?;
    let now = tree.value(file).map_err(|source| KnobError::Read {
        path: path(),
        source,
    })?;
    if now == value {
        return Ok(());
    }
    Err(KnobError::NotTaken {
        path: path(),
        requested: value.into(),
        now,
    })
}

/// Joins the distinct values with commas, in order.
pub(super) fn distinct<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen.join(", ")
}

fn is_scheduler(knob: &Knob) -> bool {
    matches!(knob, Knob::Queue { setting, .. } if *setting == Setting::Scheduler)
}

fn hint(knob: &Knob) -> Option<&'static str> {
    if let Knob::IrqAffinity { .. } = knob {
        return Some(
            "the kernel itself places the interrupts of the queues of its own NVMe driver",
        );
    }
    let Knob::Queue { setting, .. } = knob else {
        return None;
    };
    match setting {
        Setting::IoPoll => Some(
            "since Linux 5.19 the driver's poll queues decide: nvme.poll_queues=N on the kernel's command line",
        ),
        Setting::IoPollDelay => Some("since Linux 6.4 there is no such delay"),
        Setting::NrRequests => Some("without a scheduler it can be up to the device's tags"),
        _ => None,
    }
}

/// Whether `file` is in the directory of `knob`, and not reached through it elsewhere.
fn owns(knob: &Knob, file: &str) -> bool {
    let folder = match knob {
        Knob::Queue { disk, .. } => &format!("sys/block/{disk}/queue"),
        Knob::Governor | Knob::MaxFrequency => "sys/devices/system/cpu/cpufreq",
        Knob::MaxCstate => "sys/devices/system/cpu",
        Knob::Umwait { .. } => "sys/devices/system/cpu/umwait_control",
        Knob::IrqAffinity { irq } => &irq::folder(*irq),
    };
    let (file, folder) = (Path::new(file), Path::new(folder));
    let plain = |component| matches!(component, Component::Normal(_));
    file.starts_with(folder) && file != folder && file.components().all(plain)
}
