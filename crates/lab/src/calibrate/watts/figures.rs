//! Figures of a calibration of watts.

use super::clock::ClockWatts;
use crate::statistics::Interval;
use joulio_model::CoreState;
use joulio_model::MeteredAt;
use serde::Serialize;

/// Measured power of this machine's cores, by activity.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredWatts {
    /// Names of the meters whose figures were added.
    pub meter: String,
    /// Place of the meters: the package or the wall.
    pub boundary: MeteredAt,
    /// Number of cores, all of one package, that were kept busy.
    pub cores_used: usize,
    /// Number of cores of the machine.
    pub cores: usize,
    /// Number of repetitions of each state.
    pub rounds: u32,
    /// Length of a window in seconds.
    pub window_seconds: f64,
    /// Release of the kernel.
    pub kernel: String,
    /// Revision of the microcode.
    pub microcode: String,
    /// Date of the measurement.
    pub date: String,
    /// Watts of the idle machine, with one core spinning, and with all used cores spinning.
    pub awake: [CoresAwake; 3],
    /// Watts that cores share, drawn in addition while at least one of them is awake.
    pub uncore: Interval,
    /// Watts of a core in each state.
    pub states: Vec<StateWatts>,
    /// Joules of a wake-up from each idle state.
    pub wakes: Vec<WakeJoules>,
    /// Name of the idle state above whose power all others are given, if the machine has any.
    pub idle_state: Option<String>,
    /// Watts of a spinning core at each clock that was chosen, the highest first; all other figures are at the highest.
    pub clocks: Vec<ClockWatts>,
}

/// Watts of the whole boundary while some of the cores spin.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CoresAwake {
    /// Number of cores that spin.
    pub cores: usize,
    /// Watts.
    pub watts: Interval,
}

/// Watts of a core in one state.
#[derive(Clone, Debug, Serialize)]
pub struct StateWatts {
    /// Name of the state: `spin`, `tpause C0.2`, `C1E`.
    pub name: String,
    /// Profile figure that these watts become.
    #[serde(skip)]
    pub figure: Option<CoreState>,
    /// Watts above an idle core; `None` for the reason in `why`.
    pub above_idle: Option<Interval>,
    /// Watts below a spinning core.
    pub below_spin: Option<Interval>,
    /// Share of the cycles that the core spent in C0.1 or C0.2, whichever the state is; `None`: not counted on this
    /// machine.
    pub inside: Option<f64>,
    /// Reason why there is no figure.
    pub why: Option<String>,
}

/// Joules of a wake-up by a timer from one idle state.
#[derive(Clone, Debug, Serialize)]
pub struct WakeJoules {
    /// Deepest state that the kernel was allowed to choose; `None`: no limit.
    pub state: Option<String>,
    /// Wake-ups per second and core, at the two rates that were compared.
    pub rates: [f64; 2],
    /// CPU time that the kernel charged for a wake-up in nanoseconds; its energy is not part of `joules`.
    pub busy_ns: f64,
    /// Joules; `None` for the reason in `why`.
    pub joules: Option<Interval>,
    /// Reason why there is no figure.
    pub why: Option<String>,
}

/// Returns the state of `[core_watts]` that corresponds to an idle state of the kernel, by its name; `None` if there
/// is none, as for POLL, in which the idle task spins.
pub fn figure_of_idle_state(name: &str) -> Option<CoreState> {
    let name = name.to_ascii_uppercase();
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let number: u32 = digits
        .split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()?;
    match number {
        0 => None,
        _ if !name.starts_with('C') => None,
        1 if name.starts_with("C1E") => Some(CoreState::C1e),
        1 => Some(CoreState::C1),
        // Idle without voltage, or nearly: the deepest state that profiles have.
        2..=5 => None,
        _ => Some(CoreState::C6),
    }
}

impl MeasuredWatts {
    /// Returns the watts of a spinning core above an idle one.
    pub fn spin(&self) -> Option<Interval> {
        let spin = self
            .states
            .iter()
            .find(|state| state.figure == Some(CoreState::Spin));
        spin?.above_idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_states_are_known_by_their_names() {
        let all = [
            "POLL", "C1", "C1E", "C1_ACPI", "C6", "C6P", "C10", "C3", "C0.2",
        ];
        let of = all.map(figure_of_idle_state);
        let deep = Some(CoreState::C6);
        let c1 = Some(CoreState::C1);
        let c1e = Some(CoreState::C1e);
        assert_eq!(of, [None, c1, c1e, c1, deep, deep, deep, None, None]);
    }
}
