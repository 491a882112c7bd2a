//! Energy from profiles, where there is no meter.

use crate::{Boundary, Energy, How, Place};
use joulio_model::power::{self, DeviceActivity, Residency};
use joulio_model::{DeviceProfile, MachineProfile, MeteredAt, Pick};
use joulio_units::Nanos;

/// A machine and the devices on it, as profiles have them.
pub struct Model<'a> {
    /// The machine whose watts are used, whatever machine the run was on.
    pub machine: &'a MachineProfile,
    /// Each device's profile and what it did; a device without a profile is not modelled.
    pub devices: Vec<(Option<&'a DeviceProfile>, DeviceActivity)>,
}

impl Model<'_> {
    /// The energy of a window in which the submitters' cores spent their time as `cores` says, with
    /// its band.
    ///
    /// At the package for a machine whose watts are of that, whatever the devices. At the wall when
    /// every device has a profile; otherwise at the cores alone, because a wall figure without the
    /// device would be too small by an unknown amount.
    pub fn energy(&self, window: Nanos, cores: &[Residency]) -> Energy {
        let devices = self.devices.iter();
        let devices: Option<Vec<_>> = devices
            .map(|(profile, activity)| profile.map(|profile| (profile, *activity)))
            .collect();
        let parts = |devices: &[_], pick| power::energy(self.machine, devices, window, cores, pick);
        let joules = |pick| match (self.machine.boundary, &devices) {
            (MeteredAt::Package, _) => parts(&[], pick).without_devices(),
            (MeteredAt::Wall, Some(devices)) => parts(devices, pick).total(),
            (MeteredAt::Wall, None) => {
                power::cores_in_full(self.machine, cores, pick)
                    + power::wakes(self.machine, cores, pick)
            }
        };
        let machine = &self.machine.name;
        let (boundary, source) = match (self.machine.boundary, &devices) {
            (MeteredAt::Package, _) => (Boundary::Package, format!("model of {machine}")),
            (MeteredAt::Wall, Some(devices)) => {
                let names = devices
                    .iter()
                    .map(|(profile, _)| format!(" + {}", profile.name));
                let names: String = names.collect();
                (Boundary::Wall, format!("model of {machine}{names}"))
            }
            (MeteredAt::Wall, None) => (
                Boundary::Cores,
                format!("model of {machine}, device not modelled"),
            ),
        };
        Energy {
            boundary,
            place: Place::Machine,
            source,
            modelled: true,
            idle_subtracted: false,
            joules: joules(Pick::Value),
            error: None,
            band: Some(Pick::band(joules)),
            window,
            how: How::Modelled,
        }
    }

    /// The caveat of that energy in one line: frequency is not in it, where it is not.
    pub fn note(&self, cores: &[Residency]) -> Option<String> {
        self.machine.frequency_note(cores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_units::{Band, Joules};

    const WINDOW: Nanos = Nanos::from_millis(1_000);

    fn server() -> MachineProfile {
        MachineProfile::builtin("generic-server").unwrap()
    }

    fn spinning() -> Residency {
        Residency {
            spin: WINDOW,
            ..Residency::default()
        }
    }

    fn idle() -> DeviceActivity {
        DeviceActivity {
            window: WINDOW,
            ..DeviceActivity::default()
        }
    }

    #[test]
    fn a_device_without_a_profile_leaves_the_cores_boundary() {
        let machine = server();
        let optane = DeviceProfile::builtin("optane-900p").unwrap();
        let known = Model {
            machine: &machine,
            devices: vec![(Some(&optane), idle())],
        };
        let unknown = Model {
            machine: &machine,
            devices: vec![(Some(&optane), idle()), (None, idle())],
        };
        let cores = [spinning()];
        let (wall, bare) = (known.energy(WINDOW, &cores), unknown.energy(WINDOW, &cores));
        assert_eq!(
            (wall.boundary, bare.boundary),
            (Boundary::Wall, Boundary::Cores)
        );
        assert!(wall.modelled && bare.modelled);
        assert_eq!(bare.joules, machine.core_watts.spin.watts() * WINDOW);
        assert!(wall.joules > bare.joules);
        assert_eq!(bare.per_joule(0), Some(0.0));
    }

    #[test]
    fn the_watts_of_a_package_make_no_figure_at_the_wall() {
        let machine = MachineProfile::builtin("xeon-8558").unwrap();
        let optane = DeviceProfile::builtin("optane-900p").unwrap();
        let devices = [vec![(Some(&optane), idle())], vec![(None, idle())]];
        let [with, without] = devices.map(|devices| {
            let machine = &machine;
            Model { machine, devices }.energy(WINDOW, &[spinning()])
        });
        assert_eq!(with.boundary, Boundary::Package);
        assert_eq!((with.joules, with.band), (without.joules, without.band));
    }

    #[test]
    fn the_band_is_that_of_all_figures_together() {
        let machine = server();
        let optane = DeviceProfile::builtin("optane-900p").unwrap();
        let model = Model {
            machine: &machine,
            devices: vec![(Some(&optane), idle()); 2],
        };
        let ends = |figure: &joulio_model::Figure| figure.band.unwrap();
        let ([low, high], [idle_low, idle_high]) =
            (ends(&machine.base_watts), ends(&optane.power.idle_watts));
        let want = Band {
            low: Joules(low + 2.0 * idle_low),
            high: Joules(high + 2.0 * idle_high),
        };
        assert_eq!(model.energy(WINDOW, &[]).band, Some(want));
        let worked = model.energy(WINDOW, &[spinning()]);
        let band = worked.band.unwrap();
        assert!(band.holds(worked.joules) && band.low > want.low && band.high > want.high);
    }

    #[test]
    fn the_band_at_the_cores_is_that_of_their_states_alone() {
        let machine = server();
        let model = Model {
            machine: &machine,
            devices: vec![(None, idle())],
        };
        let [low, high] = machine.core_watts.spin.band.unwrap();
        let band = model.energy(WINDOW, &[spinning()]).band.unwrap();
        assert_eq!((band.low, band.high), (Joules(low), Joules(high)));
    }

    #[test]
    fn an_energy_without_frequencies_has_a_note() {
        let machine = server();
        let model = Model {
            machine: &machine,
            devices: Vec::new(),
        };
        assert!(model.note(&[spinning()]).unwrap().contains("2.1 GHz"));
        let known = Residency {
            frequency: machine.frequency_ratio(2.1e9),
            ..spinning()
        };
        assert_eq!(model.note(&[known]), None);
    }
}
