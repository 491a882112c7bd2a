//! The CPUs: /proc/cpuinfo, and what /sys/devices/system/cpu says of all of them.

use super::files::told;
use super::{Throttles, Told};
use crate::knobs::{CpuIdleState, KnobError, Tree, states};
use crate::{Knob, Knobs};
use joulio_units::Nanos;
use serde::Serialize;

const CPUS: &str = "sys/devices/system/cpu";

/// The CPUs, and what they do when they are idle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cpu {
    /// The model's name.
    pub model: Told<String>,
    /// The microcode's revision.
    pub microcode: Told<String>,
    /// The governors of frequency in use; more than one with commas.
    pub governor: Told<String>,
    /// The driver of idle states.
    pub idle_driver: Told<String>,
    /// What chooses among them.
    pub idle_governor: Told<String>,
    /// The idle states that there are, shallowest first.
    pub idle_states: Told<Vec<IdleStateSetting>>,
    /// Whether user-level waits may be as deep as C0.2: 1 or 0.
    pub umwait_c02: Told<String>,
    /// The longest of them, in cycles of the TSC; 0 is no limit.
    pub umwait_max_cycles: Told<String>,
    /// Weaknesses, and what the kernel does about each: it costs I/Os.
    pub vulnerabilities: Told<Vec<Vulnerability>>,
    /// `mitigations=` of the kernel's command line.
    pub mitigations: Told<String>,
    /// How often CPUs were too hot since the system started.
    pub throttles: Told<Throttles>,
}

/// An idle state of all CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IdleStateSetting {
    /// Its name.
    pub name: String,
    /// How long it takes to leave it, on the first CPU that has it.
    pub latency_ns: Option<u64>,
    /// CPUs that have it.
    pub cpus: u32,
    /// CPUs on which it is switched off.
    pub disabled_on: u32,
}

/// A weakness of the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Vulnerability {
    /// Its name: `spectre_v2`.
    pub name: String,
    /// What the kernel says of it: `Not affected`, `Mitigation: ...`, `Vulnerable`.
    pub state: String,
}

impl Cpu {
    pub(super) fn read(tree: &Tree) -> Cpu {
        let governor = Knobs::of(tree).read(&Knob::Governor);
        Cpu {
            model: info(tree, "model name"),
            microcode: info(tree, "microcode"),
            governor: match governor {
                Ok(reading) => Told::some(reading.value),
                Err(KnobError::Absent { why, .. }) => Told::none(why),
                Err(error) => Told::none(error),
            },
            idle_driver: told(tree, &format!("{CPUS}/cpuidle/current_driver")),
            idle_governor: told(tree, &format!("{CPUS}/cpuidle/current_governor_ro")),
            idle_states: idle(&states(tree)),
            umwait_c02: told(tree, &format!("{CPUS}/umwait_control/enable_c02")),
            umwait_max_cycles: told(tree, &format!("{CPUS}/umwait_control/max_time")),
            vulnerabilities: vulnerabilities(tree),
            mitigations: mitigations(tree),
            throttles: Throttles::of(tree).map_err(|none| none.to_string()).into(),
        }
    }
}

/// A line of the first CPU in /proc/cpuinfo.
fn info(tree: &Tree, name: &str) -> Told<String> {
    let text = match tree.text("proc/cpuinfo") {
        Ok(text) => text,
        Err(error) => return Told::none(format!("/proc/cpuinfo: {error}")),
    };
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(key, _)| key.trim() == name);
    let found = found.map(|(_, value)| value.trim().to_string());
    found
        .ok_or_else(|| format!("/proc/cpuinfo has no {name} here"))
        .into()
}

fn idle(cpus: &[(u32, Vec<CpuIdleState>)]) -> Told<Vec<IdleStateSetting>> {
    let mut all: Vec<IdleStateSetting> = Vec::new();
    for state in cpus.iter().flat_map(|(_, states)| states) {
        let off = u32::from(state.disabled == Some(true));
        match all.iter_mut().find(|known| known.name == state.name) {
            Some(known) => {
                known.cpus += 1;
                known.disabled_on += off;
            }
            None => all.push(IdleStateSetting {
                name: state.name.clone(),
                latency_ns: state.latency.map(|Nanos(ns)| ns),
                cpus: 1,
                disabled_on: off,
            }),
        }
    }
    if all.is_empty() {
        return Told::none(crate::NoCpuIdle);
    }
    Told::some(all)
}

fn vulnerabilities(tree: &Tree) -> Told<Vec<Vulnerability>> {
    let folder = format!("{CPUS}/vulnerabilities");
    let names = tree.names(&folder).into_iter();
    let read = |name: String| {
        let state = tree.text(&format!("{folder}/{name}")).ok()?;
        Some(Vulnerability { name, state })
    };
    let all: Vec<_> = names.filter_map(read).collect();
    if all.is_empty() {
        return Told::none(format!("no /{folder}"));
    }
    Told::some(all)
}

fn mitigations(tree: &Tree) -> Told<String> {
    let line = match tree.text("proc/cmdline") {
        Ok(line) => line,
        Err(error) => return Told::none(format!("/proc/cmdline: {error}")),
    };
    // The last one holds.
    let words = line.split_ascii_whitespace();
    let found = words
        .filter_map(|word| word.strip_prefix("mitigations="))
        .next_back();
    found
        .map(Into::into)
        .ok_or("not on the kernel's command line: the kernel's own choice")
        .into()
}
