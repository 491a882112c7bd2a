//! Energy from profiles, where there is no meter.

use crate::{Boundary, Energy, How, Place};
use joulio_model::power::{self, DeviceActivity, Residency};
use joulio_model::{CoreState, DeviceProfile, MachineProfile};
use joulio_units::{Joules, Nanos};

/// A machine and the devices on it, as profiles have them.
pub struct Model<'a> {
    /// The machine whose watts are used, whatever machine the run was on.
    pub machine: &'a MachineProfile,
    /// Each device's profile and what it did; a device without a profile is not modelled.
    pub devices: Vec<(Option<&'a DeviceProfile>, DeviceActivity)>,
}

impl Model<'_> {
    /// The energy of a window in which the submitters' cores spent their time as `cores` says.
    ///
    /// At the wall when every device has a profile; otherwise at the cores alone, because a wall
    /// figure without the device would be too small by an unknown amount.
    pub fn energy(&self, window: Nanos, cores: &[Residency]) -> Energy {
        let at_cores = power::cores(self.machine, cores) + power::wakes(self.machine, cores);
        let devices: Option<Vec<(&str, Joules)>> = self
            .devices
            .iter()
            .map(|(profile, activity)| {
                profile.map(|profile| (profile.name.as_str(), power::device(profile, activity)))
            })
            .collect();
        let machine = &self.machine.name;
        let (boundary, joules, source) = match devices {
            Some(devices) => {
                let mut joules = power::base(self.machine, window) + at_cores;
                let mut source = format!("model of {machine}");
                for (name, energy) in devices {
                    joules += energy;
                    source.push_str(&format!(" + {name}"));
                }
                (Boundary::Wall, joules, source)
            }
            None => {
                // The base, which is not part of this figure, holds the cores' C6 watts.
                let floor = self.machine.core_watts(CoreState::C6);
                let joules = cores.iter().map(|core| floor * core.total());
                let joules = joules.fold(at_cores, |sum, more| sum + more);
                (
                    Boundary::Cores,
                    joules,
                    format!("model of {machine}, device not modelled"),
                )
            }
        };
        Energy {
            boundary,
            place: Place::Machine,
            source,
            modelled: true,
            idle_subtracted: false,
            joules,
            error: None,
            window,
            how: How::Modelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_a_profile_leaves_the_cores_boundary() {
        let machine = MachineProfile::builtin("generic-server").unwrap();
        let optane = DeviceProfile::builtin("optane-900p").unwrap();
        let window = Nanos::from_millis(1_000);
        let cores = [Residency {
            spin: window,
            ..Residency::default()
        }];
        let activity = DeviceActivity {
            window,
            ..DeviceActivity::default()
        };
        let known = Model {
            machine: &machine,
            devices: vec![(Some(&optane), activity)],
        };
        let unknown = Model {
            machine: &machine,
            devices: vec![(None, activity)],
        };
        let (wall, bare) = (known.energy(window, &cores), unknown.energy(window, &cores));
        assert_eq!(
            (wall.boundary, bare.boundary),
            (Boundary::Wall, Boundary::Cores)
        );
        assert!(wall.modelled && bare.modelled);
        assert!(wall.joules > bare.joules && bare.joules.0 > 0.0);
        assert_eq!(bare.per_joule(0), Some(0.0));
    }
}
