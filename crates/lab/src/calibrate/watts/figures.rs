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
    /// Place at which they are.
    pub boundary: MeteredAt,
    /// Number of cores, of one package, that were made to do something.
    pub cores_used: usize,
    /// Number of cores of the machine.
    pub cores: usize,
    /// Number of repetitions of each state.
    pub rounds: u32,
    /// Length of a window in seconds.
    pub window_seconds: f64,
    /// Kernel's release.
    pub kernel: String,
    /// Revision of the microcode.
    pub microcode: String,
    /// Day of the measurement.
    pub date: String,
    /// Watts of the idle machine, of one and of all cores that spin.
    pub awake: [CoresAwake; 3],
    /// Watts that cores share, on top while one of them is awake.
    pub uncore: Interval,
    /// Watts of a core in each state.
    pub states: Vec<StateWatts>,
    /// Joules of a wake-up from each idle state.
    pub wakes: Vec<WakeJoules>,
    /// Name of the idle state that all else is above, where the machine has any.
    pub idle_state: Option<String>,
    /// Watts of a spinning core at each clock that was chosen, the highest first, at which all else is too.
    pub clocks: Vec<ClockWatts>,
}

/// Watts of the whole boundary while some cores spin.
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
    /// Figure of the profile that it is.
    #[serde(skip)]
    pub figure: Option<CoreState>,
    /// Watts above an idle core; `None`: `why`.
    pub above_idle: Option<Interval>,
    /// Watts less than a spinning core draws.
    pub below_spin: Option<Interval>,
    /// Share of the cycles that the core was in C0.1 or C0.2, whichever the state is; `None`: not
    /// counted here.
    pub inside: Option<f64>,
    /// Why there is no figure.
    pub why: Option<String>,
}

/// Joules of a wake-up by a timer from one idle state.
#[derive(Clone, Debug, Serialize)]
pub struct WakeJoules {
    /// The deepest state that the kernel might choose; `None`: its own choice.
    pub state: Option<String>,
    /// Wakes a second and core of the two rates.
    pub rates: [f64; 2],
    /// Nanoseconds that the system charged for a wake, which are not in its joules.
    pub busy_ns: f64,
    /// Joules; `None`: `why`.
    pub joules: Option<Interval>,
    /// Why there is no figure.
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
        // Without its voltage, or nearly: the deepest that profiles know.
        2..=5 => None,
        _ => Some(CoreState::C6),
    }
}

impl MeasuredWatts {
    /// Watts of a spinning core above an idle one.
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
