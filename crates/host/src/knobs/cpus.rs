//! Settings of all CPUs: the governor of their frequency, and the idle states that they may enter.

use super::error::{Absence, KnobError};
use super::knob::Knob;
use super::plan::distinct;
use super::reading::{KnobReading, KnobValues};
use crate::tree::Tree;
use joulio_units::Nanos;

const CPUS: &str = "sys/devices/system/cpu";

/// An idle state of a CPU, and whether it may be entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuIdleState {
    /// Number of the state: deeper ones have higher ones.
    pub number: u32,
    /// Name of the state: `POLL`, `C1E`.
    pub name: String,
    /// Time to leave the state; the kernel reports microseconds.
    pub latency: Option<Nanos>,
    /// Whether the state is switched off; `None` for a state without a switch.
    pub disabled: Option<bool>,
}

/// Returns the idle states of each CPU, shallowest first; CPUs without any are left out.
pub fn idle_states(root: impl Into<std::path::PathBuf>) -> Vec<(u32, Vec<CpuIdleState>)> {
    states(&Tree::at(root))
}

pub(crate) fn states(tree: &Tree) -> Vec<(u32, Vec<CpuIdleState>)> {
    let cpus = tree.numbered(CPUS, "cpu").into_iter();
    let all = cpus.map(|cpu| {
        let numbers = tree.numbered(&format!("{CPUS}/cpu{cpu}/cpuidle"), "state");
        let states = numbers.into_iter().filter_map(|n| state(tree, cpu, n));
        (cpu, states.collect())
    });
    all.filter(|(_, states): &(_, Vec<_>)| !states.is_empty())
        .collect()
}

fn state(tree: &Tree, cpu: u32, number: u32) -> Option<CpuIdleState> {
    let text = |name| tree.text(&state_file(cpu, number, name)).ok();
    let latency = text("latency").and_then(|text| text.parse().ok());
    Some(CpuIdleState {
        number,
        name: text("name")?,
        latency: latency.map(Nanos::from_micros),
        disabled: text("disable").map(|text| text != "0"),
    })
}

fn state_file(cpu: u32, number: u32, name: &str) -> String {
    format!("{CPUS}/cpu{cpu}/cpuidle/state{number}/{name}")
}

/// Returns the deepest state that is not switched off, by CPU; allowed are the names that all CPUs have.
pub(super) fn read_deepest(tree: &Tree, knob: &Knob) -> Result<KnobReading, KnobError> {
    let absent = |why| KnobError::Absent {
        knob: knob.clone(),
        why,
    };
    let all = states(tree);
    let (_, first) = all
        .first()
        .ok_or_else(|| absent(joulio_kernel_io::NoCpuIdle.into()))?;
    if all
        .iter()
        .flat_map(|(_, states)| states)
        .any(|state| state.disabled.is_none())
    {
        return Err(absent(Absence::NoSwitch));
    }
    let deepest = all.iter().map(|(_, states)| {
        let on = states.iter().rfind(|state| state.disabled == Some(false));
        on.map_or("none", |state| state.name.as_str())
    });
    let everywhere = |name: &String| all.iter().all(|(_, states)| named(states, name).is_some());
    let names = first.iter().map(|state| state.name.clone());
    let mut names: Vec<String> = names.filter(everywhere).collect();
    if names.iter().any(|name| name == POLL) {
        names.insert(0, "C0".into());
    }
    Ok(KnobReading {
        value: distinct(deepest),
        allowed: KnobValues::OneOf(names),
    })
}

/// Idle state that polls instead of executing an idle instruction.
const POLL: &str = "POLL";

fn named<'a>(states: &'a [CpuIdleState], name: &str) -> Option<&'a CpuIdleState> {
    let name = if name == "C0" { POLL } else { name };
    states.iter().find(|state| state.name == name)
}

/// Returns the switches of all states such that `deepest` is the deepest: itself on, deeper ones off, and shallower
/// ones unchanged.
pub(super) fn switches(tree: &Tree, deepest: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (cpu, states) in states(tree) {
        let Some(at) = named(&states, deepest).map(|state| state.number) else {
            continue;
        };
        for state in states.iter().filter(|state| state.number >= at) {
            let off = if state.number > at { "1" } else { "0" };
            files.push((state_file(cpu, state.number, "disable"), off.into()));
        }
    }
    files
}

/// File of a policy's highest frequency, in kHz.
const MAX_FREQUENCY: &str = "scaling_max_freq";

/// Lists the policies; CPUs that share a frequency share a policy.
fn policies(tree: &Tree) -> Vec<String> {
    let folder = format!("{CPUS}/cpufreq");
    let numbers = tree.numbered(&folder, "policy").into_iter();
    numbers.map(|n| format!("{folder}/policy{n}")).collect()
}

/// Reads the text of a policy's file.
fn read(tree: &Tree, file: String) -> Result<String, KnobError> {
    tree.text(&file).map_err(|source| KnobError::Read {
        path: tree.path(&file),
        source,
    })
}

pub(super) fn read_governor(tree: &Tree, knob: &Knob) -> Result<KnobReading, KnobError> {
    let policies = policies(tree);
    let mut values = Vec::new();
    let mut common: Option<Vec<String>> = None;
    for policy in &policies {
        values.push(read(tree, format!("{policy}/scaling_governor"))?);
        let offered = read(tree, format!("{policy}/scaling_available_governors"))?;
        let offered: Vec<String> = offered.split_whitespace().map(Into::into).collect();
        common = Some(match common {
            None => offered,
            Some(names) => names.into_iter().filter(|n| offered.contains(n)).collect(),
        });
    }
    let common = common.ok_or_else(|| KnobError::Absent {
        knob: knob.clone(),
        why: Absence::NoCpufreq,
    })?;
    Ok(KnobReading {
        value: distinct(values.iter().map(String::as_str)),
        allowed: KnobValues::OneOf(common),
    })
}

pub(super) fn governors(tree: &Tree, governor: &str) -> Vec<(String, String)> {
    let files = policies(tree).into_iter();
    files
        .map(|policy| (format!("{policy}/scaling_governor"), governor.into()))
        .collect()
}

/// Returns the highest frequency that each policy allows; allowed are values that all CPUs support.
pub(super) fn read_max_frequency(tree: &Tree, knob: &Knob) -> Result<KnobReading, KnobError> {
    let (mut values, mut common) = (Vec::new(), None);
    for policy in policies(tree) {
        values.push(read(tree, format!("{policy}/{MAX_FREQUENCY}"))?);
        let limit = |name: &str| -> Result<i64, KnobError> {
            let text = read(tree, format!("{policy}/{name}"))?;
            text.parse().map_err(|_| KnobError::Absent {
                knob: knob.clone(),
                why: Absence::NoCpufreq,
            })
        };
        let (low, high) = (limit("cpuinfo_min_freq")?, limit("cpuinfo_max_freq")?);
        common = Some(match common {
            None => (low, high),
            Some((min, max)) => (low.max(min), high.min(max)),
        });
    }
    let (min, max) = common.ok_or_else(|| KnobError::Absent {
        knob: knob.clone(),
        why: Absence::NoCpufreq,
    })?;
    Ok(KnobReading {
        value: distinct(values.iter().map(String::as_str)),
        allowed: KnobValues::number(min, max),
    })
}

pub(super) fn max_frequencies(tree: &Tree, khz: &str) -> Vec<(String, String)> {
    let files = policies(tree).into_iter();
    files
        .map(|policy| (format!("{policy}/{MAX_FREQUENCY}"), khz.into()))
        .collect()
}

/// Returns the energy preferences, where a governor of the hardware's own has them.
pub(super) fn preferences(tree: &Tree) -> Vec<String> {
    let files = policies(tree).into_iter();
    files
        .map(|policy| format!("{policy}/energy_performance_preference"))
        .collect()
}
