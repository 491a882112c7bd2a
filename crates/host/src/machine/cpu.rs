//! The CPUs: /proc/cpuinfo, and the files of /sys/devices/system/cpu.

use super::files::read;
use super::known::Known;
use crate::knobs::{CpuIdleState, Knob, KnobError, Knobs, states};
use crate::tree::Tree;
use joulio_kernel_io::{NoCpuIdle, Throttles};
use joulio_units::Nanos;
use serde::Serialize;
use std::path::Path;

const CPUS: &str = "sys/devices/system/cpu";

/// CPUs of a machine, and how they idle.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// Name of the model.
    pub model: Known<String>,
    /// Revision of the microcode.
    pub microcode: Known<String>,
    /// Governors of frequency in use, with commas.
    pub governor: Known<String>,
    /// Driver of idle states.
    pub idle_driver: Known<String>,
    /// Governor of idle states.
    pub idle_governor: Known<String>,
    /// Idle states that there are, shallowest first.
    pub idle_states: Known<Vec<IdleStateSetting>>,
    /// Depth of user-level waits: 1 if they may be as deep as C0.2, else 0.
    pub umwait_c02: Known<String>,
    /// Longest user-level wait, in cycles of the TSC; 0 is no limit.
    pub umwait_max_cycles: Known<String>,
    /// Weaknesses, and the kernel's remedy for each: it costs I/Os.
    pub vulnerabilities: Known<Vec<Vulnerability>>,
    /// `mitigations=` of the kernel's command line.
    pub mitigations: Known<String>,
    /// Times that CPUs were too hot since the system started.
    pub throttles: Known<Throttles>,
}

/// An idle state of all CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleStateSetting {
    /// Name of the state.
    pub name: String,
    /// Nanoseconds that it takes to leave it, on the first CPU that has it.
    pub latency_ns: Option<u64>,
    /// CPUs that have it.
    pub cpus: u32,
    /// CPUs on which it is switched off.
    pub disabled_on: u32,
}

/// A weakness of the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Vulnerability {
    /// Name of the weakness: `spectre_v2`.
    pub name: String,
    /// State that the kernel reports: `Not affected`, `Mitigation: ...`, `Vulnerable`.
    pub state: String,
}

impl Cpu {
    pub(super) fn read(root: &Path) -> Cpu {
        let tree = &Tree::at(root);
        let governor = Knobs::of(tree).read(&Knob::Governor);
        Cpu {
            model: info(tree, "model name"),
            microcode: info(tree, "microcode"),
            governor: match governor {
                Ok(reading) => Known::some(reading.value),
                Err(KnobError::Absent { why, .. }) => Known::none(why),
                Err(error) => Known::none(error),
            },
            idle_driver: read(tree, &format!("{CPUS}/cpuidle/current_driver")),
            idle_governor: read(tree, &format!("{CPUS}/cpuidle/current_governor_ro")),
            idle_states: idle(&states(tree)),
            umwait_c02: read(tree, &format!("{CPUS}/umwait_control/enable_c02")),
            umwait_max_cycles: read(tree, &format!("{CPUS}/umwait_control/max_time")),
            vulnerabilities: vulnerabilities(tree),
            mitigations: mitigations(tree),
            throttles: Throttles::read(root)
                .map_err(|none| none.to_string())
                .into(),
        }
    }
}

/// Reads a line of the first CPU in /proc/cpuinfo.
fn info(tree: &Tree, name: &str) -> Known<String> {
    let text = match tree.text("proc/cpuinfo") {
        Ok(text) => text,
        Err(error) => return Known::none(format!("/proc/cpuinfo: {error}")),
    };
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(key, _)| key.trim() == name);
    let found = found.map(|(_, value)| value.trim().to_string());
    found
        .ok_or_else(|| format!("/proc/cpuinfo has no {name} here"))
        .into()
}

fn idle(cpus: &[(u32, Vec<CpuIdleState>)]) -> Known<Vec<IdleStateSetting>> {
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
        return Known::none(NoCpuIdle);
    }
    Known::some(all)
}

fn vulnerabilities(tree: &Tree) -> Known<Vec<Vulnerability>> {
    let folder = format!("{CPUS}/vulnerabilities");
    let names = tree.names(&folder).into_iter();
    let read = |name: String| {
        let state = tree.text(&format!("{folder}/{name}")).ok()?;
        Some(Vulnerability { name, state })
    };
    let all: Vec<_> = names.filter_map(read).collect();
    if all.is_empty() {
        return Known::none(format!("no /{folder}"));
    }
    Known::some(all)
}

fn mitigations(tree: &Tree) -> Known<String> {
    let line = match tree.text("proc/cmdline") {
        Ok(line) => line,
        Err(error) => return Known::none(format!("/proc/cmdline: {error}")),
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
