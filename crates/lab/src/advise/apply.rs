//! Application of the settings that the advice names.

use super::report::AdviceReport;
use joulio_host::knobs::idle_states;
use joulio_host::{ChangeError, Changes, Knob, Knobs};
use std::path::Path;

/// Root of the settings.
const ROOT: &str = "/";

/// Result of applying the settings that the advice names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The advice names no settings.
    Nothing,
    /// The advice names only settings of devices that joulio drives, which the program that drives them makes.
    ByCommand,
    /// All settings have the advised values already.
    Already,
    /// Settings that were changed, each as `NAME=VALUE`, and left so; the journal restores them.
    Changed(Vec<String>),
}

/// A configuration file that makes a setting survive a reboot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastingFile {
    /// Path of the file.
    pub path: &'static str,
    /// Lines to add to the file.
    pub lines: Vec<String>,
}

impl AdviceReport {
    /// Makes the settings of the advice and leaves them in place; `report` receives a line for each setting that joulio
    /// cannot make itself.
    ///
    /// # Errors
    /// A setting cannot be made.
    pub fn apply(&self, report: impl Fn(&str)) -> Result<Applied, Box<ChangeError>> {
        let wanted = self.wanted();
        if wanted.is_empty() {
            let settings = &self.advice.chosen().candidate.settings;
            return Ok(match settings.is_empty() {
                true => Applied::Nothing,
                false => Applied::ByCommand,
            });
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

    /// Returns the settings of the advice with their values; a disk's setting is listed for each disk.
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

    /// Returns the configuration files that would make the settings of the advice survive a reboot.
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

/// Returns the indices of this machine's idle states that are deeper than `state`.
fn deeper(state: &str) -> Vec<u32> {
    let all = idle_states(ROOT);
    let Some((_, states)) = all.first() else {
        return Vec::new();
    };
    let at = states.iter().position(|one| one.name == state);
    let deeper = states.iter().skip(at.map_or(states.len(), |at| at + 1));
    deeper.map(|one| one.number).collect()
}
