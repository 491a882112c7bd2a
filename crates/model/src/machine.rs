//! The profile of a machine: the power of the box and of its cores by state, and the cost of waking
//! one.

pub mod costs;
mod rules;

use joulio_units::Watts;
use serde::{Deserialize, Serialize};

use crate::catalogue::{self, Profile};
use crate::power::residency::Residency;
use crate::{CoreState, Figure, Frequency, FrequencyRatio, Link, Pick, ProfileError};

/// A machine, as the power model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineProfile {
    /// The name it is requested by.
    pub name: String,
    /// Sentence on what is modelled, and at which boundary the watts were measured.
    pub description: String,
    /// Parts of the names of the processors that it is a profile of; none: of no one machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<String>,
    /// Boundary of the profile's watts; the whole box by default.
    #[serde(default, skip_serializing_if = "MeteredAt::is_wall")]
    pub boundary: MeteredAt,
    /// Number of physical cores.
    pub cores: Figure,
    /// Watts that its processor package is sold to draw for long: its thermal design power; absent
    /// where the machine is of no one part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tdp_watts: Option<Figure>,
    /// Watts of the whole box, or of the `boundary`, with every core in C6 and no storage device under test.
    pub base_watts: Figure,
    /// Watts that the package draws on top while any core keeps it from its own deep idle state;
    /// absent when that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncore_watts: Option<Figure>,
    /// Watts that it draws on top of those with every core busy, and a share of them with some;
    /// absent when that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncore_active_watts: Option<Figure>,
    /// Watts of one core by state.
    pub core_watts: CoreWatts,
    /// Law by which they follow the core's frequency; absent when that is not known, and then they
    /// do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    /// Cost of waking a core.
    pub wake: WakeEnergy,
    /// The link that each device is on; absent: it limits no device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Times of the software around an I/O, for the twin; absent if they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<costs::Costs>,
}

/// Place at which the watts of a machine were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeteredAt {
    /// The plug: `base_watts` is of the box, and devices add to it.
    #[default]
    Wall,
    /// The processor package: neither the rest of the box nor devices are in it.
    Package,
}

impl MeteredAt {
    fn is_wall(&self) -> bool {
        *self == MeteredAt::Wall
    }
}

/// Watts of one physical core by its activity; all in full, C6 not subtracted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreWatts {
    /// Polling memory in a tight loop, or running the driver and the workload.
    pub spin: Figure,
    /// Running in the kernel.
    pub kernel: Figure,
    /// Waiting in `tpause` C0.1; absent when the CPU has no WAITPKG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_c01: Option<Figure>,
    /// Waiting in `tpause` C0.2; absent when the CPU has no WAITPKG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_c02: Option<Figure>,
    /// Waiting in `mwaitx` on a cache line; absent when the CPU cannot. A CPU with WAITPKG draws `pause_c02` instead:
    /// `umwait` enters the same C0.2 as `tpause`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Figure>,
    /// Halted in C1.
    pub c1: Figure,
    /// Halted in C1E: C1 at the lowest frequency and voltage.
    pub c1e: Figure,
    /// Powered off in C6; `base_watts` already holds this for every core.
    pub c6: Figure,
}

impl CoreWatts {
    /// Watts of one core that monitors a cache line; `None` when the CPU cannot.
    pub fn monitored(&self) -> Option<&Figure> {
        self.pause_c02.as_ref().or(self.monitor.as_ref())
    }
}

/// Joules of a wake-up that no time in a state accounts for: leaving the idle state.
///
/// The code that then runs (interrupt handler, scheduler) is time, and paid for as `kernel`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WakeEnergy {
    /// Joules of one wake-up by a device's interrupt.
    pub interrupt_joules: Figure,
    /// Joules of one wake-up by the kernel's timer, setting the timer included.
    pub timer_joules: Figure,
}

impl MachineProfile {
    /// The profile that is taken when none is named.
    pub const DEFAULT: &'static str = "generic-server";

    /// The names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        catalogue::names::<MachineProfile>()
    }

    /// The built-in profile `name`.
    ///
    /// # Errors
    /// [`ProfileError`]: no built-in profile has the name.
    pub fn builtin(name: &str) -> Result<MachineProfile, ProfileError> {
        catalogue::builtin(name)
    }

    /// The built-in profile of that name, or the one in the file if it ends in `.toml`.
    ///
    /// # Errors
    /// [`ProfileError`]: no built-in profile has the name, or the file cannot be read or is not a profile.
    pub fn load(name_or_path: &str) -> Result<MachineProfile, ProfileError> {
        catalogue::load(name_or_path)
    }

    /// The built-in profile of a machine whose processor is called `model_name` in /proc/cpuinfo.
    pub fn fitting(model_name: &str) -> Option<MachineProfile> {
        let mut all = MachineProfile::names().filter_map(|name| MachineProfile::builtin(name).ok());
        all.find(|profile| profile.fits(model_name))
    }

    /// Returns whether the profile is of a machine whose processor is called `model_name` in /proc/cpuinfo.
    pub fn fits(&self, model_name: &str) -> bool {
        self.processors.iter().any(|part| model_name.contains(part))
    }

    /// The profile in `text`; errors call it `origin`.
    ///
    /// # Errors
    /// [`ProfileError`]: the text is not a profile, or its numbers make no sense.
    pub fn parse(text: &str, origin: &str) -> Result<MachineProfile, ProfileError> {
        catalogue::parse(text, origin)
    }

    /// Refuses numbers that make no sense; every function that loads a profile has done this.
    ///
    /// # Errors
    /// [`ProfileError`]: the first number that makes no sense.
    pub fn validate(&self) -> Result<(), ProfileError> {
        self.check(&self.name)
    }

    /// Hardware threads of all cores, at least 1; one a core where the profile has no costs.
    pub fn cpus(&self) -> usize {
        let threads = self
            .costs
            .as_ref()
            .map_or(1, |costs| costs.threads_per_core.count());
        self.cores.count().max(1) as usize * threads.max(1) as usize
    }

    /// Power of one core in `state` at the reference frequency.
    ///
    /// A pause or a monitor that the CPU does not have costs what spinning costs: it saves nothing.
    pub fn core_watts(&self, state: CoreState) -> Watts {
        self.core_watts_at(state, None, Pick::Value)
    }

    /// Power of one core in `state` at `frequency` of the reference, and at either end of the band.
    ///
    /// Running and pausing follow the frequency, by one law: the saving of C0.2 over spinning was
    /// found the same at 2 GHz and at 800 MHz. A halted core draws what it does at the reference,
    /// for its clock stands still, but no more than if it spun.
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
            CoreState::PauseC02 => running(watts.pause_c02.as_ref().unwrap_or(spin)),
            CoreState::Monitor => running(watts.monitored().unwrap_or(spin)),
            CoreState::C1 => watts.c1.at(pick).min(running(spin)),
            CoreState::C1e => watts.c1e.at(pick).min(running(spin)),
            CoreState::C6 => watts.c6.at(pick).min(running(spin)),
        })
    }

    /// The ratio of `hertz` to the reference of this profile; `None` where it has none, and for a
    /// frequency that no clock runs at.
    pub fn frequency_ratio(&self, hertz: f64) -> Option<FrequencyRatio> {
        let reference = self.frequency.as_ref()?.reference_hertz.value;
        FrequencyRatio::new(hertz / reference)
    }

    /// The caveat of an energy of `run_cores`, if they were paid for at the reference frequency
    /// for want of a better one; one line.
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
