//! Making the settings that the advice names.

use super::report::AdviceReport;
use joulio_host::knobs::idle_states;
use joulio_host::{ChangeError, Changes, Knob, Knobs};
use std::path::Path;

/// Root of the settings.
const ROOT: &str = "/";

/// Result of applying the settings that the advice names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The advice names none.
    Nothing,
    /// All settings have the advised values already.
    Already,
    /// Settings that were made, each as `NAME=VALUE`, and left: the journal puts them back.
    Changed(Vec<String>),
}

/// A file by which a setting outlives a reboot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastingFile {
    /// Path of the file.
    pub path: &'static str,
    /// Lines that belong into it.
    pub lines: Vec<String>,
}

impl AdviceReport {
    /// Makes the settings of the advice, and leaves them in place; settings that others have to make are passed to
    /// `report`.
    ///
    /// # Errors
    /// A setting cannot be made.
    pub fn apply(&self, report: impl Fn(&str)) -> Result<Applied, Box<ChangeError>> {
        let wanted = self.wanted();
        if wanted.is_empty() {
            return Ok(Applied::Nothing);
        }
        let knobs = Knobs::at(ROOT);
        let changes = |(knob, value): &&(Knob, &str)| {
            let plan = knobs.plan(knob, value);
            plan.is_ok_and(|plan| !plan.is_none())
        };
        let changed = wanted.iter().filter(changes);
        let changed: Vec<_> = changed
            .map(|(knob, value)| format!("{knob}={value}"))
            .collect();
        let mut changes = Changes::new(report).staying();
        changes.knobs(Path::new(ROOT), &wanted)?;
        changes.leave();
        Ok(match changed.is_empty() {
            true => Applied::Already,
            false => Applied::Changed(changed),
        })
    }

    /// The settings of the advice with their values: those of a disk for each disk.
    fn wanted(&self) -> Vec<(Knob, &str)> {
        let mut wanted: Vec<(Knob, &str)> = Vec::new();
        for (name, value) in &self.advice.chosen().candidate.settings {
            let of = |disk: Option<&str>| Knob::by_name(name, disk);
            match of(None).filter(|knob| knob.disk().is_none()) {
                Some(knob) => wanted.push((knob, value)),
                None => {
                    let knobs = self.disks.iter().filter_map(|disk| of(Some(disk)));
                    wanted.extend(knobs.map(|knob| (knob, value.as_str())));
                }
            }
        }
        wanted
    }

    /// Files that would make the settings of the advice last.
    pub fn lasting(&self) -> Vec<LastingFile> {
        let settings = &self.advice.chosen().candidate.settings;
        let rule = |scheduler: &String| {
            let disks = self.disks.iter();
            disks
                .map(|disk| format!("ACTION==\"add|change\", KERNEL==\"{disk}\", ATTR{{queue/scheduler}}=\"{scheduler}\""))
                .collect()
        };
        let disable = |state: &String| {
            let deeper = deeper(state).into_iter();
            deeper
                .map(|number| {
                    format!(
                        "w /sys/devices/system/cpu/cpu*/cpuidle/state{number}/disable - - - - 1"
                    )
                })
                .collect()
        };
        let files = [
            (
                "/etc/udev/rules.d/60-joulio.rules",
                settings.get("scheduler").map(rule),
            ),
            (
                "/etc/tmpfiles.d/joulio.conf",
                settings.get("max-cstate").map(disable),
            ),
        ];
        let files = files.into_iter().map(|(path, lines)| LastingFile {
            path,
            lines: lines.unwrap_or_default(),
        });
        files.filter(|file| !file.lines.is_empty()).collect()
    }
}

/// Numbers of the idle states of this machine that are deeper than `state`.
fn deeper(state: &str) -> Vec<u32> {
    let all = idle_states(ROOT);
    let Some((_, states)) = all.first() else {
        return Vec::new();
    };
    let at = states.iter().position(|one| one.name == state);
    let deeper = states.iter().skip(at.map_or(states.len(), |at| at + 1));
    deeper.map(|one| one.number).collect()
}
