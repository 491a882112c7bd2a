//! Energy from profiles, where there is no meter.

use crate::{Boundary, Energy, How, Place};
use joulio_model::power::{self, DeviceActivity, Residency};
use joulio_model::{DeviceProfile, MachineProfile, MeteredAt, Pick};
use joulio_units::{Joules, Nanos};
use std::iter;

/// A machine and its devices, as their profiles describe them.
pub struct Model<'a> {
    /// Machine whose watts are used, whatever machine the run was on.
    pub machine: &'a MachineProfile,
    /// Profile and activity of each device; a device without a profile is not modelled.
    pub devices: Vec<(Option<&'a DeviceProfile>, DeviceActivity)>,
}

/// Makes the energy of the machine in `window` at `boundary`; `joules` computes it, from values and from ends of bands.
pub fn modelled_energy(
    boundary: Boundary,
    source: String,
    window: Nanos,
    joules: impl Fn(Pick) -> Joules,
) -> Energy {
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

impl Model<'_> {
    /// Returns the energies of a window in which the submitters' cores spent their time as `cores` says, each with its
    /// band: one for each boundary, the widest that the profiles allow first.
    ///
    /// The widest is the wall when every device has a profile, and else the package: a figure of the wall without a
    /// device would be too small by an unknown amount. If the machine's watts are of the package, it is the package,
    /// whatever the devices. Then follow the package, with all of its cores, and the cores of the run alone.
    pub fn energies(&self, window: Nanos, cores: &[Residency]) -> Vec<Energy> {
        let widest = self.widest();
        let narrower = [Boundary::Package, Boundary::Cores].into_iter();
        let narrower = narrower.filter(|boundary| *boundary != widest);
        let all = iter::once(widest).chain(narrower);
        all.map(|boundary| self.energy_at(boundary, window, cores))
            .collect()
    }

    /// Returns the first of [`Model::energies`], of the widest boundary.
    pub fn energy(&self, window: Nanos, cores: &[Residency]) -> Energy {
        self.energy_at(self.widest(), window, cores)
    }

    /// Returns the energy of all devices that have profiles together, with its band.
    pub fn devices_energy(&self, window: Nanos) -> Energy {
        self.energy_at(Boundary::Device, window, &[])
    }

    fn widest(&self) -> Boundary {
        let known = self.devices.iter().all(|(profile, _)| profile.is_some());
        match self.machine.boundary {
            MeteredAt::Wall if known => Boundary::Wall,
            MeteredAt::Wall | MeteredAt::Package => Boundary::Package,
        }
    }

    fn energy_at(&self, boundary: Boundary, window: Nanos, cores: &[Residency]) -> Energy {
        let devices = self.devices.iter();
        let devices: Vec<_> = match boundary {
            Boundary::Wall | Boundary::Device => devices
                .filter_map(|(profile, activity)| Some(((*profile)?, *activity)))
                .collect(),
            _ => Vec::new(),
        };
        let machine = self.machine;
        let joules = |pick| match boundary {
            Boundary::Wall => power::energy(machine, &devices, window, cores, pick).total(),
            Boundary::Package => {
                let parts = power::energy(machine, &[], window, cores, pick);
                power::package(machine, &parts, window, pick)
            }
            Boundary::Device => devices
                .iter()
                .fold(Joules::default(), |sum, (profile, activity)| {
                    sum + power::device(profile, activity, pick)
                }),
            _ => power::cores_in_full(machine, cores, pick) + power::wakes(machine, cores, pick),
        };
        let names = devices.iter();
        let names: String = names
            .map(|(profile, _)| format!(" + {}", profile.name))
            .collect();
        let source = match boundary {
            Boundary::Device => format!("model of{}", names.trim_start_matches(" +")),
            _ => format!("model of {}{names}", machine.name),
        };
        modelled_energy(boundary, source, window, joules)
    }

    /// Returns the caveat of that energy in one line, that frequency is not modelled, where it is not.
    pub fn note(&self, cores: &[Residency]) -> Option<String> {
        self.machine.frequency_note(cores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_units::Band;

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
    fn a_device_without_a_profile_leaves_the_package() {
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
            (Boundary::Wall, Boundary::Package)
        );
        assert!(wall.modelled && bare.modelled);
        let all = unknown.energies(WINDOW, &cores);
        assert_eq!(all[0], bare);
        let last = &all[1];
        assert_eq!((all.len(), last.boundary), (2, Boundary::Cores));
        assert_eq!(last.joules, machine.core_watts.spin.watts() * WINDOW);
        assert!(last.joules < bare.joules);
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
        let all = model.energies(WINDOW, &[spinning()]);
        let band = all.last().unwrap().band.unwrap();
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
