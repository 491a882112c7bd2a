//! The moves themselves, and the state after one that fails.

use rustix::io::Errno;

use super::super::fake::{Machine, device};
use super::super::{BindOutcome, NoIommu, PciError, UnbindOutcome, Undone};

fn write(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

const ADDRESS: &str = "0000:01:00.0";

#[test]
fn there_and_back_again() {
    let (machine, address) = Machine::with_disk();
    let sysfs = machine.sysfs();

    let outcome = sysfs.bind(address).unwrap();
    assert!(outcome.group().node.ends_with("dev/vfio/7"));
    assert_eq!(outcome.group().number, 7);
    assert!(matches!(&outcome, BindOutcome::Moved { from: Some(d), .. } if d == "nvme"));
    assert_eq!(sysfs.driver(address).unwrap().as_deref(), Some("vfio-pci"));

    let outcome = sysfs.unbind(address).unwrap();
    let driver = Some("nvme".to_owned());
    assert_eq!(outcome, UnbindOutcome::Returned { driver });
    assert_eq!(machine.driver_override(address), "(null)\n");
    assert_eq!(
        machine.writes(),
        [
            write("driver_override", "vfio-pci"),
            write("unbind", ADDRESS),
            write("drivers_probe", ADDRESS),
            write("driver_override", "\n"),
            write("unbind", ADDRESS),
            write("drivers_probe", ADDRESS),
        ]
    );
}

#[test]
fn controllers_of_one_group_are_bound_and_given_back_one_after_the_other() {
    let (machine, first) = Machine::with_disk();
    let second = machine.function("0000:01:00.1", "0x010802", Some("nvme"), Some(7));
    let sysfs = machine.sysfs();
    let held = || -> Vec<String> {
        let held = sysfs.group_held_by(7).unwrap();
        held.iter().map(ToString::to_string).collect()
    };
    sysfs.bind(first).unwrap();
    assert_eq!(held(), ["0000:01:00.1 (nvme)"]);
    sysfs.bind(second).unwrap();
    assert_eq!(held(), [""; 0]);
    for address in [first, second] {
        let driver = sysfs.driver(address).unwrap();
        assert_eq!(driver.as_deref(), Some("vfio-pci"));
    }
    sysfs.unbind(first).unwrap();
    sysfs.unbind(second).unwrap();
    assert_eq!(held().len(), 2);
}

#[test]
fn a_controller_already_there_is_left_alone() {
    let machine = Machine::new();
    let address = machine.function(ADDRESS, "0x010802", Some("vfio-pci"), Some(7));
    let outcome = machine.sysfs().bind(address).unwrap();
    assert!(matches!(outcome, BindOutcome::Already { .. }));
    assert!(outcome.to_string().starts_with("already on vfio-pci"));
    assert_eq!(machine.writes(), []);
}

#[test]
fn a_controller_of_the_kernel_is_not_given_back() {
    let (machine, address) = Machine::with_disk();
    let outcome = machine.sysfs().unbind(address).unwrap();
    assert!(matches!(&outcome, UnbindOutcome::NotOnVfio { driver: Some(d) } if d == "nvme"));
    assert_eq!(machine.writes(), []);
}

#[test]
fn a_free_controller_is_bound_without_an_unbind() {
    let machine = Machine::new();
    let address = machine.function(ADDRESS, "0x010802", None, Some(7));
    let outcome = machine.sysfs().bind(address).unwrap();
    assert!(matches!(outcome, BindOutcome::Moved { from: None, .. }));
    assert!(!machine.writes().iter().any(|(name, _)| name == "unbind"));
}

#[test]
fn a_group_without_an_iommu_has_a_node_of_another_name() {
    let machine = Machine::new();
    let address = machine.function(ADDRESS, "0x010802", Some("vfio-pci"), Some(0));
    machine.file("sys/kernel/iommu_groups/0/name", "vfio-noiommu\n");
    let sysfs = machine.sysfs();
    let outcome = sysfs.bind_with(address, NoIommu::Allowed).unwrap();
    assert!(outcome.group().node.ends_with("dev/vfio/noiommu-0"));
    // Whoever bound it: without the permission it is refused, as it is when it is opened.
    let error = sysfs.bind(address).unwrap_err();
    assert!(matches!(error, PciError::NoIommuGroup { .. }), "{error}");
}

#[test]
fn without_an_iommu_the_group_comes_with_the_move_and_takes_a_word() {
    let (machine, address) = Machine::with_disk();
    machine.remove(&format!("{}/iommu_group", device(address)));
    let sysfs = machine.sysfs();
    let refused = || sysfs.bind_with(address, NoIommu::Allowed).unwrap_err();
    assert!(matches!(refused(), PciError::NoIommuModeMissing));
    let mode = "sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
    machine.file(mode, "N\n");
    assert!(matches!(refused(), PciError::NoIommuModeOff));
    machine.file(mode, "Y\n");
    let error = sysfs.bind(address).unwrap_err();
    assert!(matches!(error, PciError::NoIommuGroup { .. }), "{error}");
    assert_eq!(machine.writes(), []);

    let outcome = sysfs.bind_with(address, NoIommu::Allowed).unwrap();
    assert!(outcome.group().no_iommu);
    assert!(outcome.group().node.ends_with("dev/vfio/noiommu-0"));
    assert!(matches!(outcome, BindOutcome::Moved { .. }));
}

#[test]
fn a_probe_that_fails_is_undone() {
    let (machine, address) = Machine::with_disk();
    machine.refuse("vfio-pci");
    let error = machine.sysfs().bind(address).unwrap_err();
    assert_eq!(
        error.to_string(),
        "0000:01:00.0 was not moved to vfio-pci: vfio-pci did not take it: \
         `dmesg` says why; it is back on nvme"
    );
    assert_eq!(machine.driver_override(address), "(null)\n");
    let driver = machine.sysfs().driver(address).unwrap();
    assert_eq!(driver.as_deref(), Some("nvme"));
}

#[test]
fn an_unbind_that_fails_leaves_the_driver_and_clears_the_override() {
    let (machine, address) = Machine::with_disk();
    machine.deny("nvme/unbind", Errno::PERM);
    let error = machine.sysfs().bind(address).unwrap_err().to_string();
    assert!(error.contains("run as root; it is back on nvme"), "{error}");
    assert_eq!(
        machine.writes(),
        [
            write("driver_override", "vfio-pci"),
            write("driver_override", "\n")
        ]
    );
}

#[test]
fn an_override_that_stood_before_is_put_back() {
    let (machine, address) = Machine::with_disk();
    machine.file(&format!("{}/driver_override", device(address)), "nvme\n");
    machine.refuse("vfio-pci");
    machine.sysfs().bind(address).unwrap_err();
    assert_eq!(machine.driver_override(address), "nvme\n");
}

#[test]
fn an_undo_that_fails_too_is_reported() {
    let (machine, address) = Machine::with_disk();
    machine.refuse("vfio-pci");
    machine.refuse("nvme");
    let error = machine.sysfs().bind(address).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("putting it back failed too: nvme did not take it"),
        "{error}"
    );
    let PciError::MoveFailed { undone, .. } = error else {
        panic!("{error}")
    };
    assert!(matches!(undone, Undone::Failed(_)));
}

#[test]
fn what_a_broken_off_move_left_without_a_driver_is_given_back() {
    let machine = Machine::new();
    let address = machine.function(ADDRESS, "0x010802", None, Some(7));
    machine.file(
        &format!("{}/driver_override", device(address)),
        "vfio-pci\n",
    );
    let outcome = machine.sysfs().unbind(address).unwrap();
    assert_eq!(outcome.to_string(), "given back to nvme");
}

#[test]
fn a_controller_that_nobody_takes_back_is_reported_as_such() {
    let machine = Machine::new();
    let address = machine.function(ADDRESS, "0x010802", Some("vfio-pci"), Some(7));
    machine.remove("sys/bus/pci/drivers/nvme");
    let outcome = machine.sysfs().unbind(address).unwrap();
    assert_eq!(outcome, UnbindOutcome::Returned { driver: None });
    assert!(outcome.to_string().contains("modprobe nvme"));
}

#[test]
fn a_failed_give_back_puts_the_override_back() {
    let (machine, address) = Machine::with_disk();
    let sysfs = machine.sysfs();
    sysfs.bind(address).unwrap();
    machine.deny("vfio-pci/unbind", Errno::PERM);
    let error = sysfs.unbind(address).unwrap_err().to_string();
    assert!(error.contains("it is back on vfio-pci"), "{error}");
    assert_eq!(machine.driver_override(address), "vfio-pci\n");
}
