//! The profile of a machine: the power of the box, the power of its cores by state, and the cost of waking a core.

pub mod costs;
mod rules;

use joulio_units::Watts;
use serde::{Deserialize, Serialize};

use crate::catalogue::{self, Profile};
use crate::power::residency::Residency;
use crate::{CoreState, Figure, Frequency, FrequencyRatio, Link, Pick, ProfileError};

/// A machine, as the power model uses it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineProfile {
    /// Name of the profile.
    pub name: String,
    /// Description of what is modelled and at which boundary the watts were measured, in a sentence.
    pub description: String,
    /// Parts of the names of the processors that the profile describes; empty: no particular machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<String>,
    /// Boundary of the profile's watts; the whole box by default.
    #[serde(default, skip_serializing_if = "MeteredAt::is_wall")]
    pub boundary: MeteredAt,
    /// Number of physical cores.
    pub cores: Figure,
    /// Watts that the processor package may draw for long: its thermal design power; absent if the machine has no
    /// particular processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tdp_watts: Option<Figure>,
    /// Watts of the whole box, or within the `boundary`, with every core in C6 and without the storage devices
    /// under test.
    pub base_watts: Figure,
    /// Additional watts of the package while any core keeps it from its own deep idle state; absent if there are
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncore_watts: Option<Figure>,
    /// Additional watts of the package with every core busy, proportionally less with some;
    /// absent when that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncore_active_watts: Option<Figure>,
    /// Watts of one core by state.
    pub core_watts: CoreWatts,
    /// Law by which the watts depend on the core's frequency; absent if it is not known, so that they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    /// Energy of waking a core.
    pub wake: WakeEnergy,
    /// The link of each device; absent: it limits no device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Times of the software around an I/O, for the twin; absent if they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<costs::Costs>,
}

/// Boundary at which the watts of a machine were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeteredAt {
    /// The plug: `base_watts` is that of the box, and devices add to it.
    #[default]
    Wall,
    /// The processor package: neither the rest of the box nor devices are included.
    Package,
}

impl MeteredAt {
    fn is_wall(&self) -> bool {
        *self == MeteredAt::Wall
    }
}

/// Watts of one physical core by its activity: all of them, without subtracting those in C6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreWatts {
    /// Polling memory in a tight loop, or running the driver and the workload.
    pub spin: Figure,
    /// Running code of the kernel.
    pub kernel: Figure,
    /// Waiting in `tpause` C0.1; absent if the CPU has no WAITPKG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_c01: Option<Figure>,
    /// Waiting in `tpause` C0.2; absent if the CPU has no WAITPKG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_c02: Option<Figure>,
    /// Waiting in `mwaitx`, on a cache line or for a time; absent if the CPU does not have it. For a CPU with WAITPKG
    /// `pause_c02` applies instead: `umwait` enters the same C0.2 as `tpause`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Figure>,
    /// Halted in C1.
    pub c1: Figure,
    /// Halted in C1E: C1 at the lowest frequency and voltage.
    pub c1e: Figure,
    /// Powered off in C6; `base_watts` already includes this for every core.
    pub c6: Figure,
}

impl CoreWatts {
    /// Returns the watts of a core in a deep user-level wait, on a cache line or for a time; `None` if the CPU has
    /// none. A CPU has one instruction for both, or two that enter the same state.
    pub fn monitored(&self) -> Option<&Figure> {
        self.pause_c02.as_ref().or(self.monitor.as_ref())
    }
}

/// Joules of a wake-up in addition to the time in states: those of leaving the idle state.
///
/// The code that then runs (interrupt handler, scheduler) takes time, which counts as `kernel`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WakeEnergy {
    /// Joules of one wake-up by a device's interrupt.
    pub interrupt_joules: Figure,
    /// Joules of one wake-up by the kernel's timer, including those of setting it.
    pub timer_joules: Figure,
}

impl MachineProfile {
    /// Name of the profile that is used if none is named.
    pub const DEFAULT: &'static str = "generic-server";

    /// Returns the names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        catalogue::names::<MachineProfile>()
    }

    /// Returns the built-in profile `name`.
    ///
    /// # Errors
    /// [`ProfileError`]: no built-in profile has the name.
    pub fn builtin(name: &str) -> Result<MachineProfile, ProfileError> {
        catalogue::builtin(name)
    }

    /// Returns the built-in profile of that name, or the one in the file if the name ends in `.toml`.
    ///
    /// # Errors
    /// [`ProfileError`]: no built-in profile has the name, or the file cannot be read or is not a profile.
    pub fn load(name_or_path: &str) -> Result<MachineProfile, ProfileError> {
        catalogue::load(name_or_path)
    }

    /// Returns the built-in profile of a machine whose processor is called `model_name` in /proc/cpuinfo.
    pub fn fitting(model_name: &str) -> Option<MachineProfile> {
        let mut all = MachineProfile::names().filter_map(|name| MachineProfile::builtin(name).ok());
        all.find(|profile| profile.fits(model_name))
    }

    /// Returns true if the profile describes a machine whose processor is called `model_name` in /proc/cpuinfo.
    pub fn fits(&self, model_name: &str) -> bool {
        self.processors.iter().any(|part| model_name.contains(part))
    }

    /// Parses the profile in `text`; errors name `origin`.
    ///
    /// # Errors
    /// [`ProfileError`]: the text is not a profile, or a number is invalid.
    pub fn parse(text: &str, origin: &str) -> Result<MachineProfile, ProfileError> {
        catalogue::parse(text, origin)
    }

    /// Checks all numbers; functions that load a profile do this.
    ///
    /// # Errors
    /// [`ProfileError`]: the first invalid number.
    pub fn validate(&self) -> Result<(), ProfileError> {
        self.check(&self.name)
    }

    /// Returns the number of hardware threads of all cores, at least 1; one per core if the profile has no costs.
    pub fn cpus(&self) -> usize {
        let threads = self
            .costs
            .as_ref()
            .map_or(1, |costs| costs.threads_per_core.count());
        self.cores.count().max(1) as usize * threads.max(1) as usize
    }

    /// Returns the power of one core in `state` at the reference frequency.
    ///
    /// A pause or a monitor that the CPU does not have takes the power of a spin.
    pub fn core_watts(&self, state: CoreState) -> Watts {
        self.core_watts_at(state, None, Pick::Value)
    }

    /// Returns the power of one core in `state` at the ratio `frequency` to the reference, with figures at `pick`
    /// of their bands.
    ///
    /// Running and pausing depend on the frequency by the same law: the saving of C0.2 over spinning was measured
    /// to be equal at 2 GHz and at 800 MHz. A halted core draws what it does at the reference, since its clock
    /// stands still, but no more than a spinning core.
    pub fn core_watts_at(
        &self,
        state: CoreState,
        frequency: Option<FrequencyRatio>,
        pick: Pick,
    ) -> Watts {
        let law = self.frequency.as_ref().zip(frequency);
        let factor = law.map_or(1.0, |(law, ratio)| law.factor(ratio, pick));
        let watts = &self.core_watts;
        let spin = &watts.spin;
        let running = |figure: &Figure| figure.at(pick) * factor;
        Watts(match state {
            CoreState::Spin => running(spin),
            CoreState::Kernel => running(&watts.kernel),
            CoreState::PauseC01 => running(watts.pause_c01.as_ref().unwrap_or(spin)),
            CoreState::PauseC02 | CoreState::Monitor => running(watts.monitored().unwrap_or(spin)),
            CoreState::C1 => watts.c1.at(pick).min(running(spin)),
            CoreState::C1e => watts.c1e.at(pick).min(running(spin)),
            CoreState::C6 => watts.c6.at(pick).min(running(spin)),
        })
    }

    /// Returns the ratio of `hertz` to the reference of this profile; `None` if it has no reference, or no clock
    /// runs at that frequency.
    pub fn frequency_ratio(&self, hertz: f64) -> Option<FrequencyRatio> {
        let reference = self.frequency.as_ref()?.reference_hertz.value;
        FrequencyRatio::new(hertz / reference)
    }

    /// Returns a note for an energy of `run_cores`, in one line, if the reference frequency was used for lack of
    /// the actual one.
    pub fn frequency_note(&self, run_cores: &[Residency]) -> Option<String> {
        let name = &self.name;
        let known = |core: &Residency| core.frequency.is_some();
        match &self.frequency {
            _ if run_cores.is_empty() => None,
            None => Some(format!(
                "core watts are those of {name}, whatever the frequency: the profile has no [frequency]"
            )),
            Some(law) if !run_cores.iter().all(known) => Some(format!(
                "core frequency not known: watts are those of {name} at {} GHz",
                law.reference_hertz.value / 1e9
            )),
            Some(_) => None,
        }
    }
}

impl Profile for MachineProfile {
    const WHAT: &'static str = "machine";
    const BUILTIN: &'static [(&'static str, &'static str)] = &[
        (
            "generic-server",
            include_str!("../profiles/machines/generic-server.toml"),
        ),
        ("client", include_str!("../profiles/machines/client.toml")),
        (
            "xeon-6230",
            include_str!("../profiles/machines/xeon-6230.toml"),
        ),
        (
            "xeon-8558",
            include_str!("../profiles/machines/xeon-8558.toml"),
        ),
        (
            "xeon-e3-1230v5",
            include_str!("../profiles/machines/xeon-e3-1230v5.toml"),
        ),
    ];

    fn check(&self, origin: &str) -> Result<(), ProfileError> {
        rules::check(self, origin)
    }
}
