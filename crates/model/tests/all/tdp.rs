//! A package that draws more than its thermal design power.

use joulio_model::power::package;
use joulio_model::{EnergyParts, MachineProfile, Residency, power};
use joulio_units::Nanos;

const SECOND: Nanos = Nanos(1_000_000_000);

/// Returns the energy of a second of `cores` spinning cores.
fn spun(machine: &MachineProfile, cores: usize) -> EnergyParts {
    let spinning = Residency {
        spin: SECOND,
        ..Residency::default()
    };
    let all = vec![spinning; cores];
    power::energy(machine, &[], SECOND, &all, joulio_model::Pick::Value)
}

#[test]
fn only_a_package_past_its_tdp_says_so() {
    let machine = MachineProfile::builtin("xeon-8558").unwrap();
    assert_eq!(power::past_tdp(&machine, &spun(&machine, 1), SECOND), None);
    let past = power::past_tdp(&machine, &spun(&machine, 46), SECOND).unwrap();
    assert_eq!(past.tdp_watts, 330.0);
    let message = past.to_string();
    assert!(message.contains("past its TDP of 330 W"), "{message}");
    // Without a particular processor there is no TDP.
    let server = MachineProfile::builtin("generic-server").unwrap();
    assert!(server.tdp_watts.is_none());
    let cores = server.cores.value as usize;
    assert_eq!(
        power::past_tdp(&server, &spun(&server, cores), SECOND),
        None
    );
}

#[test]
fn the_box_and_the_devices_are_not_in_the_package() {
    let machine = MachineProfile::builtin("xeon-6230").unwrap();
    let parts = spun(&machine, 20);
    let package = package(&machine, &parts, SECOND, joulio_model::Pick::Value);
    let cores = 20.0 * machine.core_watts.spin.value;
    let uncore = parts.uncore.0;
    assert!((package.0 - cores - uncore).abs() < 1e-6, "{package}");
    assert!(package < parts.total());
}

#[test]
fn a_tdp_of_nothing_is_refused() {
    let mut machine = MachineProfile::builtin("xeon-6230").unwrap();
    machine.tdp_watts.as_mut().unwrap().value = 0.0;
    let error = machine.validate().unwrap_err().to_string();
    assert!(error.contains("tdp_watts"), "{error}");
}
