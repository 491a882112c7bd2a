//! Joules from the activity of cores and devices in a window: arithmetic only.
//!
//! The boundary is the whole box, or, if the machine's profile has the package's watts, the package without the
//! devices. The energy is the sum of five parts that do not overlap:
//!
//! | part | energy |
//! |---|---|
//! | base | `base_watts` x window: the box, with every core in C6 |
//! | cores | for each core of the run, watts of its states *above C6* x the time in each |
//! | uncore | parts that the cores share, by the time they are awake and by how busy the cores are |
//! | wakes | joules of each wake-up in addition to the time it takes |
//! | device | idle watts x window, or those of its power states, plus more for its work |
//!
//! Cores that the run does not use sleep in C6, which is part of the base. Each function takes the figures at their
//! value or at an end of their bands, as [`Pick`] says.

mod cores;
mod counted;
mod device;
pub(crate) mod residency;
mod tdp;

use std::ops::Add;

use joulio_units::{Joules, Nanos};

use crate::machine::MachineProfile;
use crate::{DeviceProfile, Pick};

pub use cores::{cores, cores_in_full, uncore, wakes};
pub use counted::CountedIos;
pub use device::{DeviceActivity, TransferTotals, device};
pub use residency::Residency;
pub use tdp::{package, past_tdp};

/// The joules of a window by the part of the machine that used them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyParts {
    /// The box.
    pub base: Joules,
    /// The cores of the run, above C6.
    pub cores: Joules,
    /// The parts that the cores share.
    pub uncore: Joules,
    /// Wake-ups of the cores.
    pub wakes: Joules,
    /// The devices.
    pub device: Joules,
}

impl EnergyParts {
    /// Returns the sum of all parts: the reading of a meter at the wall, if the machine's watts are those of the
    /// box.
    pub fn total(&self) -> Joules {
        self.without_devices() + self.device
    }

    /// Returns the sum without the devices: the reading of a meter at the package, if the machine's watts are those
    /// of it.
    pub fn without_devices(&self) -> Joules {
        self.base + self.cores + self.uncore + self.wakes
    }
}

impl Add for EnergyParts {
    type Output = EnergyParts;
    fn add(self, other: EnergyParts) -> EnergyParts {
        EnergyParts {
            base: self.base + other.base,
            cores: self.cores + other.cores,
            uncore: self.uncore + other.uncore,
            wakes: self.wakes + other.wakes,
            device: self.device + other.device,
        }
    }
}

/// Returns the energy of `window`, in which `run_cores` used `devices`.
pub fn energy(
    machine: &MachineProfile,
    devices: &[(&DeviceProfile, DeviceActivity)],
    window: Nanos,
    run_cores: &[Residency],
    pick: Pick,
) -> EnergyParts {
    let devices = devices.iter();
    EnergyParts {
        base: base(machine, window, pick),
        cores: cores(machine, run_cores, pick),
        uncore: uncore(machine, run_cores, pick),
        wakes: wakes(machine, run_cores, pick),
        device: devices.fold(Joules::default(), |sum, (profile, activity)| {
            sum + device(profile, activity, pick)
        }),
    }
}

/// Returns the energy of the box in `window`, with every core in C6.
pub fn base(machine: &MachineProfile, window: Nanos, pick: Pick) -> Joules {
    machine.base_watts.watts_at(pick) * window
}
