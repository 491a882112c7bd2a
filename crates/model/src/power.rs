//! Joules from what cores and device did: pure arithmetic on a window.
//!
//! The boundary is the whole box. Four parts add up to it and none holds any of another:
//!
//! | part | is |
//! |---|---|
//! | base | `base_watts` x window: the box, with every core in C6 |
//! | cores | for each core of the run, watts of its state *above C6* x time in it; the uncore once |
//! | wakes | joules of each wake-up beyond the time it takes |
//! | device | idle watts x window, or those of its power states, and more as it works |
//!
//! Cores that the run does not use sleep in C6, which base holds.

use std::ops::Add;

use joulio_units::{Joules, Nanos, Watts};

use crate::DeviceProfile;
use crate::machine::{CoreState, MachineProfile};

/// How one core spent a window, and how often it woke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    /// Polling, or running the driver and the workload; as [`CoreState::Spin`].
    pub spin: Nanos,
    /// Running in the kernel; as [`CoreState::Kernel`].
    pub kernel: Nanos,
    /// Blocked until an interrupt; as [`CoreState::C1e`], the deepest state that pays within the
    /// microseconds of an I/O (Linux gives it a target residency of 4 us on Sapphire Rapids, and
    /// C6 one of 800 us).
    pub blocked: Nanos,
    /// Asleep until a timer; as [`CoreState::C1`], since such a sleep is a fraction of an I/O and
    /// its known end keeps the kernel from a deeper state.
    pub slept: Nanos,
    /// In `tpause`; as [`CoreState::PauseC02`], which Linux allows unless told otherwise.
    pub paused: Nanos,
    /// In `umwait` or `mwaitx`; as [`CoreState::Monitor`].
    pub monitored: Nanos,
    /// Wake-ups by an interrupt.
    pub wakes: u64,
    /// Wake-ups by a timer.
    pub timer_wakes: u64,
}

impl Residency {
    /// The time accounted for.
    pub fn total(&self) -> Nanos {
        self.by_state()
            .into_iter()
            .fold(Nanos::ZERO, |sum, (_, time)| sum + time)
    }

    /// The time in each state, with the state it is paid for as.
    fn by_state(&self) -> [(CoreState, Nanos); 6] {
        [
            (CoreState::Spin, self.spin),
            (CoreState::Kernel, self.kernel),
            (CoreState::C1e, self.blocked),
            (CoreState::C1, self.slept),
            (CoreState::PauseC02, self.paused),
            (CoreState::Monitor, self.monitored),
        ]
    }
}

/// What went one way in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// I/Os finished.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time that the device worked on them, summed over I/Os; waiting in a queue is none.
    pub service: Nanos,
}

/// What a device did in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceActivity {
    /// The length of the window.
    pub window: Nanos,
    /// What it read.
    pub read: Transfer,
    /// What it wrote.
    pub write: Transfer,
    /// What it would have drawn without any I/O, if it tells: the watts of its power states by the
    /// time in each. Idle watts x window otherwise.
    pub idle: Option<Joules>,
}

/// The joules of a window by where they went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyParts {
    /// The box.
    pub base: Joules,
    /// The cores of the run, above C6.
    pub cores: Joules,
    /// Their wake-ups.
    pub wakes: Joules,
    /// The device.
    pub device: Joules,
}

impl EnergyParts {
    /// All of it: what a meter at the wall would read.
    pub fn total(&self) -> Joules {
        self.base + self.cores + self.wakes + self.device
    }
}

impl Add for EnergyParts {
    type Output = EnergyParts;
    fn add(self, other: EnergyParts) -> EnergyParts {
        EnergyParts {
            base: self.base + other.base,
            cores: self.cores + other.cores,
            wakes: self.wakes + other.wakes,
            device: self.device + other.device,
        }
    }
}

/// The energy of the window in which `cores` drove `device` to `activity`.
pub fn energy(
    machine: &MachineProfile,
    device_profile: &DeviceProfile,
    run_cores: &[Residency],
    activity: &DeviceActivity,
) -> EnergyParts {
    EnergyParts {
        base: base(machine, activity.window),
        cores: cores(machine, run_cores),
        wakes: wakes(machine, run_cores),
        device: device(device_profile, activity),
    }
}

/// The box over `window`.
pub fn base(machine: &MachineProfile, window: Nanos) -> Joules {
    machine.base_watts.watts() * window
}

/// The time of the run's cores, above the C6 that base already paid; and the uncore, which stays
/// awake as long as the longest-serving of them is anywhere but in C6.
pub fn cores(machine: &MachineProfile, run_cores: &[Residency]) -> Joules {
    let c6 = machine.core_watts(CoreState::C6);
    let times = run_cores.iter().flat_map(Residency::by_state);
    let mut sum = times.fold(Joules::default(), |sum, (state, time)| {
        sum + Watts(machine.core_watts(state).0 - c6.0) * time
    });
    if let Some(uncore) = &machine.uncore_watts {
        sum += uncore.watts() * longest(run_cores);
    }
    sum
}

fn longest(run_cores: &[Residency]) -> Nanos {
    run_cores
        .iter()
        .map(Residency::total)
        .max()
        .unwrap_or_default()
}

/// The wake-ups of the run's cores.
pub fn wakes(machine: &MachineProfile, run_cores: &[Residency]) -> Joules {
    let wake = &machine.wake;
    run_cores.iter().fold(Joules::default(), |sum, core| {
        let interrupts = Joules(wake.interrupt_joules.value * core.wakes as f64);
        let timers = Joules(wake.timer_joules.value * core.timer_wakes as f64);
        sum + interrupts + timers
    })
}

/// The device over its window:
///
/// `idling + (u_r (read_active - idle) + u_w (write_active - idle)) x window`
///
/// Idling is idle watts x window, or less where power states were used.
///
/// A direction's utilisation u is that of its busiest resource, the servers or the link:
/// `max(service / (parallelism x window), bytes / (bandwidth x window))`. Should the two together
/// pass 1 they are scaled back to 1: a device that is all busy is not busier.
pub fn device(profile: &DeviceProfile, activity: &DeviceActivity) -> Joules {
    let window = activity.window.seconds();
    if window == 0.0 {
        return Joules::default();
    }
    let service = &profile.service;
    let servers = profile.parallelism().get() as f64;
    let utilisation = |transfer: &Transfer, bandwidth: Option<f64>| {
        let served = transfer.service.seconds() / (servers * window);
        let moved = bandwidth.map_or(0.0, |limit| transfer.bytes as f64 / (limit * window));
        served.max(moved)
    };
    let read = utilisation(&activity.read, service.read_bytes_per_second());
    let write = utilisation(&activity.write, service.write_bytes_per_second());
    let scale = 1.0 / (read + write).max(1.0);

    let power = &profile.power;
    let idle = power.idle_watts.value;
    let reading = (power.read_active_watts.value - idle) * read * scale;
    let writing = (power.write_active_watts.value - idle) * write * scale;
    let idling = activity.idle.unwrap_or(Watts(idle) * activity.window);
    idling + Watts(reading + writing) * activity.window
}
