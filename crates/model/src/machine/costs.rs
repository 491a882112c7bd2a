//! The times of the steps of an I/O on a machine: the software around a device.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::CoreState;
use crate::check::FigureCheck;
use crate::range::Range;
use crate::{Figure, ProfileError};

/// CPU time of each step of an I/O, and times of the idle states.
///
/// Nanoseconds of one core at its reference frequency, while the other hardware thread of the core is idle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Time of the workload itself between a completion and the next submission.
    pub app_ns: Figure,
    /// Time from user mode to the kernel and back, for one system call.
    pub crossing_ns: Figure,
    /// Poll of a completion queue that finds nothing.
    pub poll_ns: Figure,
    /// Time to copy, check or map data, per KiB of the I/O.
    pub kib_ns: Figure,
    /// Time to give up the core: the scheduler's path from the thread to the idle task.
    pub switch_ns: Figure,
    /// Nanoseconds from the device's interrupt to the end of its handler, on a core that is awake.
    pub interrupt_ns: Figure,
    /// Nanoseconds from the handler's end to the thread's next instruction.
    pub wake_ns: Figure,
    /// Time to set a timer of the kernel, and to handle its interrupt.
    pub timer_ns: Figure,
    /// Nanoseconds by which a timer may fire later than requested; the kernel always uses all of them.
    pub timer_slack_ns: Figure,
    /// Nanoseconds that the thread loses after its core was idle: cold caches and predictors.
    pub cold_ns: Figure,
    /// Largest value to which `cold_ns` grows if the core is idle for longer; absent: it does not grow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_max_ns: Option<Figure>,
    /// Idle time after which `cold_ns` has grown by half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_half_ns: Option<Figure>,
    /// Factor on the time of the request scheduler on a core that was idle; absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_slowdown: Option<Figure>,
    /// Fraction of switch and wake-up that the system charges to the thread: the rest runs in the idle task, and is
    /// in no CPU figure of the thread. Absent: all of it is charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charged_share: Option<Figure>,
    /// Nanoseconds of CPU time after which the turn of a thread ends if others wait: the scheduler's base slice.
    pub slice_ns: Figure,
    /// Nanoseconds between two ticks of the kernel (1 s / CONFIG_HZ), at which the end of a turn is noticed;
    /// absent: 4 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_ns: Option<Figure>,
    /// Factor on the time of code while the other hardware thread of its core runs.
    pub smt_slowdown: Figure,
    /// Factor on the time of code while the other hardware thread of its core spins; absent: that of
    /// `smt_slowdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smt_spin_slowdown: Option<Figure>,
    /// Additional watts while both hardware threads of a core run, as a fraction of those of one thread, 0 to 1;
    /// absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smt_watts_share: Option<Figure>,
    /// Number of hardware threads per core.
    pub threads_per_core: Figure,
    /// Nanoseconds that a file system adds to a path of the kernel; absent: they are included in that path's
    /// figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system_ns: Option<Figure>,
    /// Nanoseconds from the device's interrupt to the thread's next instruction, if the interrupt is delivered to
    /// the program without the kernel; absent if the CPU cannot do that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_interrupt_ns: Option<Figure>,
    /// Nanoseconds to leave `tpause` or `umwait` in C0.2; absent: zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_exit_ns: Option<Figure>,
    /// The kernel's path, with a system call per I/O.
    pub kernel: PathCosts,
    /// The path of io_uring, with one system call to submit and one to wait; absent: that of `kernel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uring: Option<PathCosts>,
    /// The path of io_uring with a kernel thread that submits and polls; absent: that of `uring`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sqpoll: Option<PathCosts>,
    /// The user-space driver's path.
    pub user: PathCosts,
    /// Request schedulers of the machine's kernel, by name; `none` takes no time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scheduler: BTreeMap<String, SchedulerCosts>,
    /// The idle states, from the shallowest to the deepest.
    pub idle: Vec<IdleCosts>,
}

/// A path of software to the device and back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathCosts {
    /// Nanoseconds from the caller to the doorbell.
    pub submit_ns: Figure,
    /// Nanoseconds from the time the completion is seen to the caller.
    pub complete_ns: Figure,
    /// Nanoseconds of a block for an interrupt in addition to handler and wake-up: an eventfd and its system call.
    pub block_ns: Figure,
    /// Additional nanoseconds to leave an idle state if the kernel does not know that the thread waits for I/O, and
    /// lets the core idle deeper; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_ns: Option<Figure>,
}

/// A request scheduler: the times to insert, choose and end a request on a core that was busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchedulerCosts {
    /// Nanoseconds for a read, from insertion to completion.
    pub read_ns: Figure,
    /// Nanoseconds for a write, from insertion to completion.
    pub write_ns: Figure,
    /// Fraction of these times that is spent under the lock that all queues of a device share.
    pub locked_share: Figure,
}

/// An idle state of a core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleCosts {
    /// State by which the power is counted.
    pub state: IdleState,
    /// Nanoseconds to enter the state (the governor's bookkeeping, the clocks), which the system charges to the
    /// thread that went to sleep; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enter_ns: Option<Figure>,
    /// Nanoseconds from the interrupt to the first instruction.
    pub exit_ns: Figure,
    /// Nanoseconds in the state after which it pays.
    pub residency_ns: Figure,
    /// Expected idle time from which the governor chooses the state; absent: `residency_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_ns: Option<Figure>,
}

impl IdleCosts {
    /// Returns the expected idle time from which the governor chooses the state.
    pub fn chosen(&self) -> &Figure {
        self.chosen_ns.as_ref().unwrap_or(&self.residency_ns)
    }
}

/// An idle state by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdleState {
    /// Running: the idle task polls for work (drivers/cpuidle/poll_state.c), with the power of a spin.
    Poll,
    /// Halted.
    C1,
    /// Halted at the lowest frequency and voltage.
    C1e,
    /// Powered off.
    C6,
}

impl From<IdleState> for CoreState {
    fn from(state: IdleState) -> CoreState {
        match state {
            IdleState::Poll => CoreState::Spin,
            IdleState::C1 => CoreState::C1,
            IdleState::C1e => CoreState::C1e,
            IdleState::C6 => CoreState::C6,
        }
    }
}

impl IdleState {
    /// All idle states, from the shallowest to the deepest.
    pub const ALL: [IdleState; 4] = [
        IdleState::Poll,
        IdleState::C1,
        IdleState::C1e,
        IdleState::C6,
    ];

    /// Returns the kernel's name of the state.
    pub fn name(self) -> &'static str {
        match self {
            IdleState::Poll => "POLL",
            IdleState::C1 => "C1",
            IdleState::C1e => "C1E",
            IdleState::C6 => "C6",
        }
    }
}

impl fmt::Display for IdleState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error of a text that is not the name of an idle state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an idle state: C0, C1, C1E, C6")]
pub struct UnknownIdleState(pub String);

/// Parses a name in any case; `C0` is `POLL`.
impl FromStr for IdleState {
    type Err = UnknownIdleState;

    fn from_str(text: &str) -> Result<IdleState, UnknownIdleState> {
        let name = text.to_ascii_uppercase();
        let name = if name == "C0" { "POLL" } else { &*name };
        let mut all = IdleState::ALL.into_iter();
        all.find(|state| state.name() == name)
            .ok_or_else(|| UnknownIdleState(text.into()))
    }
}

impl Costs {
    /// Returns the idle states of a CPU that may enter none deeper than `max`; the shallowest is always included.
    pub fn idle_up_to(&self, max: Option<IdleState>) -> &[IdleCosts] {
        let deeper = |costs: &IdleCosts| max.is_some_and(|max| costs.state > max);
        let allowed = self.idle.iter().position(deeper);
        &self.idle[..allowed.unwrap_or(self.idle.len()).clamp(1, self.idle.len())]
    }
}

/// Refuses invalid costs.
pub(super) fn check(check: &FigureCheck<'_>, costs: &Costs) -> Result<(), ProfileError> {
    for (field, figure) in [
        ("costs.app_ns", &costs.app_ns),
        ("costs.crossing_ns", &costs.crossing_ns),
        ("costs.kib_ns", &costs.kib_ns),
        ("costs.switch_ns", &costs.switch_ns),
        ("costs.interrupt_ns", &costs.interrupt_ns),
        ("costs.wake_ns", &costs.wake_ns),
        ("costs.timer_ns", &costs.timer_ns),
        ("costs.timer_slack_ns", &costs.timer_slack_ns),
        ("costs.cold_ns", &costs.cold_ns),
    ] {
        check.inside(field, figure, Range::STEP_NS)?;
    }
    for (field, figure) in [
        ("costs.file_system_ns", &costs.file_system_ns),
        ("costs.user_interrupt_ns", &costs.user_interrupt_ns),
        ("costs.pause_exit_ns", &costs.pause_exit_ns),
        ("costs.cold_half_ns", &costs.cold_half_ns),
    ] {
        if let Some(figure) = figure {
            check.inside(field, figure, Range::STEP_NS)?;
        }
    }
    for (name, path) in [
        ("kernel", Some(&costs.kernel)),
        ("uring", costs.uring.as_ref()),
        ("sqpoll", costs.sqpoll.as_ref()),
        ("user", Some(&costs.user)),
    ] {
        if let Some(path) = path {
            self::path(check, name, path)?;
        }
    }
    cold(check, costs)?;
    for (name, scheduler) in &costs.scheduler {
        self::scheduler(check, name, scheduler)?;
    }
    check.inside("costs.poll_ns", &costs.poll_ns, POLL_NS)?;
    check.inside("costs.slice_ns", &costs.slice_ns, SLICE_NS)?;
    if let Some(tick) = &costs.tick_ns {
        check.inside("costs.tick_ns", tick, SLICE_NS)?;
    }
    check.within("costs.smt_slowdown", &costs.smt_slowdown, 1.0, 4.0)?;
    if let Some(slowdown) = &costs.smt_spin_slowdown {
        check.within("costs.smt_spin_slowdown", slowdown, 1.0, 4.0)?;
    }
    if let Some(share) = &costs.smt_watts_share {
        check.within("costs.smt_watts_share", share, 0.0, 1.0)?;
    }
    check.whole("costs.threads_per_core", &costs.threads_per_core, 1.0, 8.0)?;
    idle(check, &costs.idle)
}

fn path(check: &FigureCheck<'_>, name: &str, path: &PathCosts) -> Result<(), ProfileError> {
    for (field, figure) in [
        ("submit_ns", &path.submit_ns),
        ("complete_ns", &path.complete_ns),
        ("block_ns", &path.block_ns),
    ] {
        check.inside(&format!("costs.{name}.{field}"), figure, Range::STEP_NS)?;
    }
    match &path.exit_ns {
        Some(exit) => check.inside(&format!("costs.{name}.exit_ns"), exit, Range::STEP_NS),
        None => Ok(()),
    }
}

/// Checks the growth of the cold start, and that fractions are fractions.
fn cold(check: &FigureCheck<'_>, costs: &Costs) -> Result<(), ProfileError> {
    if let Some(max) = &costs.cold_max_ns {
        check.inside("costs.cold_max_ns", max, Range::STEP_NS)?;
        check.rule(
            max.value >= costs.cold_ns.value,
            "costs.cold_max_ns",
            "must not be less than costs.cold_ns, from which it grows",
        )?;
        check.rule(
            costs.cold_half_ns.is_some(),
            "costs.cold_half_ns",
            "is missing: say after how much idle time costs.cold_ns is halfway to costs.cold_max_ns",
        )?;
    }
    if let Some(slowdown) = &costs.cold_slowdown {
        check.within("costs.cold_slowdown", slowdown, 1.0, 4.0)?;
    }
    match &costs.charged_share {
        Some(share) => check.within("costs.charged_share", share, 0.0, 1.0),
        None => Ok(()),
    }
}

fn scheduler(
    check: &FigureCheck<'_>,
    name: &str,
    costs: &SchedulerCosts,
) -> Result<(), ProfileError> {
    let field = |figure: &str| format!("costs.scheduler.{name}.{figure}");
    check.rule(
        name != "none",
        "costs.scheduler.none",
        "cannot cost anything: leave it out",
    )?;
    check.inside(&field("read_ns"), &costs.read_ns, Range::STEP_NS)?;
    check.inside(&field("write_ns"), &costs.write_ns, Range::STEP_NS)?;
    check.within(&field("locked_share"), &costs.locked_share, 0.0, 1.0)
}

/// A poll must take time, or endless polling would make no progress in virtual time.
const POLL_NS: Range = Range::of(1.0, 1e9, "nanoseconds");
/// A slice and a tick must be longer than a switch.
const SLICE_NS: Range = Range::of(1e3, 1e9, "nanoseconds");

/// Checks that the states become deeper, and that each pays before the next one does.
fn idle(check: &FigureCheck<'_>, states: &[IdleCosts]) -> Result<(), ProfileError> {
    let any = !states.is_empty();
    check.rule(any, "costs.idle", "is empty: give at least one state")?;
    for (i, state) in states.iter().enumerate() {
        let field = |name: &str| format!("costs.idle[{i}].{name}");
        check.inside(&field("exit_ns"), &state.exit_ns, Range::STEP_NS)?;
        check.inside(&field("residency_ns"), &state.residency_ns, Range::STEP_NS)?;
        if let Some(enter) = &state.enter_ns {
            check.inside(&field("enter_ns"), enter, Range::STEP_NS)?;
        }
        if let Some(chosen) = &state.chosen_ns {
            check.inside(&field("chosen_ns"), chosen, Range::STEP_NS)?;
        }
        check.rule(
            state.exit_ns.value <= state.residency_ns.value,
            &field("exit_ns"),
            "must not exceed residency_ns: a state that takes longer to leave never pays",
        )?;
        let Some(before) = i.checked_sub(1).map(|i| &states[i]) else {
            continue;
        };
        check.rule(
            before.state <= state.state,
            &field("state"),
            "must not be shallower than the state before it: sort the states from the shallowest",
        )?;
        check.rule(
            before.residency_ns.value < state.residency_ns.value,
            &field("residency_ns"),
            "must be more than the state before it: sort the states from the shallowest",
        )?;
        check.rule(
            before.chosen().value < state.chosen().value,
            &field("chosen_ns"),
            "must be more than the state before it: a deeper one is not chosen for less",
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::MachineProfile;
    use toml::Value;

    const XEON: &str = include_str!("../../profiles/machines/xeon-e3-1230v5.toml");

    /// Returns the error message for the profile with `value` at `path`, without a band.
    fn refusal(path: &str, value: f64) -> String {
        refusal_of(XEON, path, value)
    }

    fn refusal_of(profile: &str, path: &str, value: f64) -> String {
        let mut profile: Value = toml::from_str(profile).unwrap();
        let mut at = &mut profile;
        for key in path.split('.') {
            at = match key.parse::<usize>() {
                Ok(index) => &mut at[index],
                Err(_) => &mut at[key],
            };
        }
        let figure = at.as_table_mut().unwrap();
        figure.insert("value".into(), Value::Float(value));
        figure.remove("band");
        let text = toml::to_string(&profile).unwrap();
        let error = MachineProfile::parse(&text, "x.toml").unwrap_err();
        error.to_string()
    }

    #[test]
    fn a_second_thread_that_makes_no_sense_is_refused_by_field() {
        const SERVER: &str = include_str!("../../profiles/machines/generic-server.toml");
        for (path, value, want) in [
            (
                "costs.smt_spin_slowdown",
                0.5,
                "costs.smt_spin_slowdown must",
            ),
            (
                "costs.smt_watts_share",
                1.5,
                "costs.smt_watts_share must be from 0 to 1",
            ),
        ] {
            let said = refusal_of(SERVER, path, value);
            assert!(said.contains(want), "{path}: {said}");
        }
    }

    #[test]
    fn idle_states_that_become_shallower_are_refused_by_field() {
        let mut profile: Value = toml::from_str(XEON).unwrap();
        let states = profile["costs"]["idle"].as_array_mut().unwrap();
        let last = states.len() - 1;
        let [first, deepest] = [0, last].map(|at| states[at]["state"].clone());
        states[0]["state"] = deepest;
        states[last]["state"] = first;
        let text = toml::to_string(&profile).unwrap();
        let error = MachineProfile::parse(&text, "x.toml").unwrap_err();
        let said = error.to_string();
        let want = "x.toml: costs.idle[1].state must not be shallower than the state before it";
        assert!(said.starts_with(want), "{said}");
        // Several states may draw as much as one.
        let states = profile["costs"]["idle"].as_array_mut().unwrap();
        let deepest = states[0]["state"].clone();
        for state in states {
            state["state"] = deepest.clone();
        }
        let text = toml::to_string(&profile).unwrap();
        MachineProfile::parse(&text, "x.toml").unwrap();
    }

    #[test]
    fn costs_that_make_no_sense_are_refused_by_field() {
        for (path, value, want) in [
            ("costs.poll_ns", 0.0, "costs.poll_ns must"),
            ("costs.app_ns", -1.0, "costs.app_ns must"),
            (
                "costs.kernel.submit_ns",
                -1.0,
                "costs.kernel.submit_ns must",
            ),
            ("costs.uring.exit_ns", -1.0, "costs.uring.exit_ns must"),
            (
                "costs.cold_max_ns",
                10.0,
                "costs.cold_max_ns must not be less than costs.cold_ns",
            ),
            ("costs.cold_slowdown", 0.5, "costs.cold_slowdown must"),
            (
                "costs.charged_share",
                1.5,
                "costs.charged_share must be from 0 to 1",
            ),
            ("costs.smt_slowdown", 0.5, "costs.smt_slowdown must"),
            (
                "costs.scheduler.bfq.read_ns",
                -1.0,
                "costs.scheduler.bfq.read_ns must",
            ),
            (
                "costs.scheduler.bfq.locked_share",
                2.0,
                "costs.scheduler.bfq.locked_share must",
            ),
            (
                "costs.threads_per_core",
                1.5,
                "costs.threads_per_core must be a whole number",
            ),
            (
                "costs.idle.1.exit_ns",
                30000.0,
                "costs.idle[1].exit_ns must not exceed residency_ns",
            ),
            (
                "costs.idle.1.residency_ns",
                300000.0,
                "costs.idle[2].residency_ns must be more",
            ),
            (
                "core_watts.spin",
                -10.0,
                "core_watts.spin must be from 0.000001 to 1000 watts",
            ),
            (
                "core_watts.c1",
                11.0,
                "core_watts.c1 must not exceed core_watts.spin",
            ),
            ("base_watts", -1.0, "base_watts must be from 0.001 to"),
            (
                "wake.timer_joules",
                -1.0,
                "wake.timer_joules must be from 0 to 1 joules",
            ),
            ("cores", 0.0, "cores must"),
        ] {
            let said = refusal(path, value);
            assert!(
                said.starts_with("x.toml: ") && said.contains(want),
                "{path}: {said}"
            );
            assert_eq!(said.lines().count(), 1);
        }
    }
}
