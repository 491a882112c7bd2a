//! What a machine draws: the box, its cores by state, and the price of waking one.

use joulio_units::Watts;
use serde::{Deserialize, Serialize};

use crate::catalogue::{self, Profile};
use crate::check::Check;
use crate::{Figure, ProfileError};

/// A machine, as the power model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineProfile {
    /// The name it is asked for by.
    pub name: String,
    /// One sentence on what is modelled, and at which boundary the watts were taken.
    pub description: String,
    /// How many physical cores it has.
    pub cores: Figure,
    /// Watts of the whole box with every core in C6 and no storage device under test.
    pub base_watts: Figure,
    /// Watts that the package draws on top while any core keeps it from its own deep idle state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncore_watts: Option<Figure>,
    /// Watts of one core by state.
    pub core_watts: CoreWatts,
    /// What waking a core costs.
    pub wake: Wake,
}

/// Watts of one physical core by what it does; all in full, C6 not subtracted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreWatts {
    /// Polling memory in a tight loop, or running the driver and the workload.
    pub spin: Figure,
    /// Running in the kernel.
    pub kernel: Figure,
    /// In `tpause` C0.1; absent when the CPU has no WAITPKG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_c01: Option<Figure>,
    /// In `tpause` C0.2; absent when the CPU has no WAITPKG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_c02: Option<Figure>,
    /// In `umwait` (or `mwaitx`) on a cache line; absent when the CPU cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Figure>,
    /// Halted in C1.
    pub c1: Figure,
    /// Halted in C1E: C1 at the lowest frequency and voltage.
    pub c1e: Figure,
    /// In C6: its voltage off; what `base_watts` already holds for every core.
    pub c6: Figure,
}

/// Joules of a wake-up that no time in a state accounts for: leaving the idle state.
///
/// The code that then runs (interrupt handler, scheduler) is time, and paid for as `kernel`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wake {
    /// Joules of one wake-up by a device's interrupt.
    pub interrupt_joules: Figure,
    /// Joules of one wake-up by the kernel's timer, setting the timer included.
    pub timer_joules: Figure,
}

/// What a core can be doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoreState {
    /// Polling, or running user code.
    Spin,
    /// Running in the kernel.
    Kernel,
    /// `tpause` C0.1.
    PauseC01,
    /// `tpause` C0.2.
    PauseC02,
    /// `umwait` or `mwaitx` on a cache line.
    Monitor,
    /// Halted in C1.
    C1,
    /// Halted in C1E.
    C1e,
    /// Powered off in C6.
    C6,
}

impl MachineProfile {
    /// The profile that is taken when none is named.
    pub const DEFAULT: &'static str = "generic-server";

    /// The names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        catalogue::names::<MachineProfile>()
    }

    /// The built-in profile `name`.
    pub fn builtin(name: &str) -> Result<MachineProfile, ProfileError> {
        catalogue::builtin(name)
    }

    /// The built-in profile of that name, or the one in the file if it ends in `.toml`.
    pub fn load(name_or_path: &str) -> Result<MachineProfile, ProfileError> {
        catalogue::load(name_or_path)
    }

    /// The profile in `text`; errors call it `origin`.
    pub fn parse(text: &str, origin: &str) -> Result<MachineProfile, ProfileError> {
        catalogue::parse(text, origin)
    }

    /// Refuses numbers that make no sense; every way to load a profile has done this.
    pub fn validate(&self) -> Result<(), ProfileError> {
        self.check(&self.name)
    }

    /// What one core draws in `state`.
    ///
    /// A pause or a monitor that the CPU does not have costs what spinning costs: it saves nothing.
    pub fn core_watts(&self, state: CoreState) -> Watts {
        let watts = &self.core_watts;
        let spin = &watts.spin;
        let figure = match state {
            CoreState::Spin => spin,
            CoreState::Kernel => &watts.kernel,
            CoreState::PauseC01 => watts.pause_c01.as_ref().unwrap_or(spin),
            CoreState::PauseC02 => watts.pause_c02.as_ref().unwrap_or(spin),
            CoreState::Monitor => watts.monitor.as_ref().unwrap_or(spin),
            CoreState::C1 => &watts.c1,
            CoreState::C1e => &watts.c1e,
            CoreState::C6 => &watts.c6,
        };
        figure.watts()
    }
}

impl Profile for MachineProfile {
    const WHAT: &'static str = "machine";
    const BUILTIN: &'static [(&'static str, &'static str)] = &[
        (
            "generic-server",
            include_str!("../../../profiles/machines/generic-server.toml"),
        ),
        (
            "xeon-e3-1230v5",
            include_str!("../../../profiles/machines/xeon-e3-1230v5.toml"),
        ),
    ];

    fn check(&self, origin: &str) -> Result<(), ProfileError> {
        let check = &Check { origin };
        check.text("name", &self.name)?;
        check.text("description", &self.description)?;
        check.whole("cores", &self.cores, 1.0, 65_536.0)?;
        check.positive("base_watts", &self.base_watts)?;
        if let Some(uncore) = &self.uncore_watts {
            check.not_negative("uncore_watts", uncore)?;
        }
        core_watts(check, &self.core_watts)?;
        check.not_negative("wake.interrupt_joules", &self.wake.interrupt_joules)?;
        check.not_negative("wake.timer_joules", &self.wake.timer_joules)
    }
}

/// Every state draws more than nothing, at least as much as C6, and an idle one no more than spin.
fn core_watts(check: &Check<'_>, watts: &CoreWatts) -> Result<(), ProfileError> {
    let states = [
        ("core_watts.spin", Some(&watts.spin)),
        ("core_watts.kernel", Some(&watts.kernel)),
        ("core_watts.pause_c01", watts.pause_c01.as_ref()),
        ("core_watts.pause_c02", watts.pause_c02.as_ref()),
        ("core_watts.monitor", watts.monitor.as_ref()),
        ("core_watts.c1", Some(&watts.c1)),
        ("core_watts.c1e", Some(&watts.c1e)),
        ("core_watts.c6", Some(&watts.c6)),
    ];
    let (spin, c6) = (watts.spin.value, watts.c6.value);
    for (field, figure) in states {
        let Some(figure) = figure else { continue };
        check.positive(field, figure)?;
        check.rule(
            figure.value >= c6,
            field,
            "must not be less than core_watts.c6",
        )?;
        check.rule(
            figure.value <= spin || field == "core_watts.kernel",
            field,
            "must not exceed core_watts.spin: waiting does not cost more than spinning",
        )?;
    }
    Ok(())
}
