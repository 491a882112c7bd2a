//! Plan of a calibration of watts: the states that this machine can measure, and why it cannot measure the others.

use super::activity::CoreActivity;
use super::topology::Topology;
use joulio_cpu::{Depth, PauseLimits, UserWait};
use joulio_host::knobs::idle_states;
use joulio_model::CoreState;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Plan of a calibration of watts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Number of cores, all of one package, that are kept busy: at least two.
    pub used: usize,
    /// Number of cores of the machine.
    pub cores: usize,
    /// Number of packages of the machine.
    pub packages: usize,
    /// Activities of awake cores to measure beside spinning, each with the profile's state that it gives the watts of,
    /// if any.
    pub waits: Vec<(CoreActivity, Option<CoreState>)>,
    /// Idle states that the kernel may choose, the shallowest first.
    pub idle: Vec<IdleStatePlan>,
    /// States that cannot be measured here, with the reasons.
    pub without: Vec<Unmeasured>,
    /// True if wake-ups are measured.
    pub wakes: bool,
    /// Highest clocks in kHz, in falling order: spinning is measured at each, everything else at the first. Empty: the
    /// kernel chooses the clock.
    pub clocks: Vec<u64>,
}

/// A state that is not measured, with the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unmeasured {
    /// Name of the state.
    pub name: String,
    /// Reason why it is not measured.
    pub why: String,
}

/// An idle state of the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleStatePlan {
    /// Name of the state.
    pub name: String,
    /// Longest time that leaving the state takes.
    pub latency: Nanos,
    /// True if the state's watts are measured. Those of the deepest state are not: all others are given above them.
    pub watts: bool,
}

impl Plan {
    /// Returns the plan for the machine whose file tree begins at `root`, with the states that `only` names, or with
    /// all if it is empty.
    pub fn of(root: &Path, topology: &Topology, only: &[String]) -> Plan {
        let requested =
            |name: &str| only.is_empty() || only.iter().any(|word| word.eq_ignore_ascii_case(name));
        let mut plan = Plan {
            used: topology.used.len(),
            cores: topology.cores,
            packages: topology.packages,
            wakes: requested("wake"),
            ..Plan::default()
        };
        let mut waits = vec![(CoreActivity::SpinPause, Ok(None))];
        for depth in [Depth::C01, Depth::C02] {
            waits.extend(user_waits(root, depth));
        }
        for (activity, figure) in waits {
            let name = activity.to_string();
            match figure {
                _ if !requested(&name) && !requested(kind(activity)) => {}
                Ok(figure) => plan.waits.push((activity, figure)),
                Err(why) => plan.without.push(Unmeasured { name, why }),
            }
        }
        let states = idle_states(root).into_iter().next();
        let states = states.into_iter().flat_map(|(_, states)| states);
        let states: Vec<_> = states
            .filter(|state| state.disabled != Some(true))
            .collect();
        let deepest = states.len().saturating_sub(1);
        for (at, state) in states.into_iter().enumerate() {
            plan.idle.push(IdleStatePlan {
                watts: at < deepest && requested(&state.name),
                name: state.name,
                latency: state.latency.unwrap_or_default(),
            });
        }
        if plan.idle.is_empty() {
            let why = joulio_kernel_io::NoCpuIdle.to_string();
            let name = "idle states".into();
            plan.without.push(Unmeasured { name, why });
        }
        plan
    }

    /// Returns the deepest idle state, in which an idle machine is.
    pub fn deepest(&self) -> Option<&IdleStatePlan> {
        self.idle.last()
    }

    /// Returns the number of windows in one block of every group: two for each arm.
    pub fn windows(&self) -> u32 {
        let arms: usize = self.groups().iter().map(|group| group.arms.len()).sum();
        2 * arms as u32
    }
}

impl IdleStatePlan {
    /// Returns true if a core in this state has to be woken. In POLL it does not: the idle task itself looks for work.
    pub fn can_be_woken_from(&self) -> bool {
        self.name != "POLL"
    }
}

/// Returns the word with which `--states` requests all depths of a wait.
fn kind(activity: CoreActivity) -> &'static str {
    match activity {
        CoreActivity::Pause(_) => "tpause",
        CoreActivity::Monitor(_) => "umwait",
        CoreActivity::SpinPause => "pause",
        CoreActivity::Rest | CoreActivity::Spin | CoreActivity::Sleeps(_) => "",
    }
}

/// Returns the user-level waits of this CPU in `depth`, each with the profile's state or the reason why it cannot be
/// measured.
fn user_waits(root: &Path, depth: Depth) -> [(CoreActivity, Result<Option<CoreState>, String>); 2] {
    let (pause, monitor) = (CoreActivity::Pause(depth), CoreActivity::Monitor(depth));
    let wait = match UserWait::detect(depth) {
        Ok(wait) => wait,
        Err(missing) => {
            let why = || Err(missing.to_string());
            return [(pause, why()), (monitor, why())];
        }
    };
    // On AMD both waits are MWAITX. Only the depth that goes idle is measured, as the profile's `monitor`.
    if wait.name() != "tpause" {
        let figure = (depth == Depth::C02).then_some(CoreState::Monitor);
        let none = Err("mwaitx is measured as the wait for a write".into());
        return [(pause, none), (monitor, Ok(figure))];
    }
    let allowed = PauseLimits::read(root).is_none_or(|limits| limits.c02);
    if depth == Depth::C02 && !allowed {
        let why = || {
            Err(
                "the system allows no C0.2: /sys/devices/system/cpu/umwait_control/enable_c02"
                    .into(),
            )
        };
        return [(pause, why()), (monitor, why())];
    }
    let figure = match depth {
        Depth::C01 => CoreState::PauseC01,
        Depth::C02 => CoreState::PauseC02,
    };
    // UMWAIT enters the same states as TPAUSE: its watts are shown, but the profile has TPAUSE's.
    [(pause, Ok(Some(figure))), (monitor, Ok(None))]
}
