//! Reading of a controller's attributes.

use super::super::fake::{Machine, device};
use super::super::{PciError, Sysfs};

#[test]
fn a_controller_is_described_whole() {
    let (machine, address) = Machine::with_disk();
    machine.file(&format!("{}/numa_node", device(address)), "1\n");
    let found = machine.sysfs().nvme_controllers().unwrap();
    assert_eq!(found.len(), 1);
    let nvme = &found[0];
    assert_eq!(nvme.address, address);
    assert_eq!((nvme.vendor, nvme.device), (0x144d, 0xa80a));
    assert_eq!(nvme.driver.as_deref(), Some("nvme"));
    assert_eq!(nvme.iommu_group, Some(7));
    assert_eq!(nvme.numa_node, Some(1));
    assert_eq!(nvme.controllers, ["nvme0"]);
    assert_eq!(nvme.namespaces, ["nvme0n1"]);
    assert_eq!(nvme.generics, ["ng0n1"]);
}

#[test]
fn only_the_class_of_nvme_io_controllers_is_listed_and_by_address() {
    let machine = Machine::new();
    machine.function("0000:03:00.0", "0x010802", None, None);
    machine.function("0000:00:1f.2", "0x010601", Some("ahci"), Some(1));
    machine.function("0000:04:00.0", "0x010803", None, None);
    machine.function("0000:02:00.0", "0x010802", Some("vfio-pci"), Some(2));
    let found = machine.sysfs().nvme_controllers().unwrap();
    let addresses: Vec<String> = found.iter().map(|n| n.address.to_string()).collect();
    assert_eq!(addresses, ["0000:02:00.0", "0000:03:00.0"]);
    assert_eq!(found[1].driver, None);
    assert_eq!(found[1].iommu_group, None);
    assert_eq!(found[1].numa_node, None);
}

#[test]
fn a_path_of_multipath_is_reported_as_the_head_that_gets_mounted() {
    let machine = Machine::new();
    let address = machine.function("01:00.0", "0x010802", Some("nvme"), Some(7));
    for path in ["nvme0c3n10", "nvme0c3n2"] {
        machine.dir(&format!("{}/nvme/nvme3/{path}", device(address)));
    }
    machine.dir("sys/class/nvme-generic/ng0n2");
    let nvme = machine.sysfs().controller(address).unwrap();
    assert_eq!(nvme.controllers, ["nvme3"]);
    assert_eq!(nvme.namespaces, ["nvme0n2", "nvme0n10"]);
    assert_eq!(nvme.generics, ["ng0n2"]);
}

#[test]
fn a_machine_without_pci_has_no_controllers() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(Sysfs::at(dir.path()).nvme_controllers().unwrap(), []);
}

#[test]
fn an_absent_address_and_another_class_are_distinguished() {
    let machine = Machine::new();
    let nic = machine.function("02:00.0", "0x020000", Some("e1000e"), Some(3));
    let sysfs = machine.sysfs();
    let error = sysfs.controller("09:00.0".parse().unwrap()).unwrap_err();
    assert!(matches!(error, PciError::Absent { .. }), "{error}");
    let error = sysfs.controller(nic).unwrap_err();
    assert!(matches!(error, PciError::NotNvme { .. }), "{error}");
    assert!(error.to_string().contains("0x020000"));
}

#[test]
fn a_nonsense_id_is_an_error_that_names_its_file() {
    let (machine, address) = Machine::with_disk();
    machine.file(&format!("{}/vendor", device(address)), "junk\n");
    let error = machine.sysfs().nvme_controllers().unwrap_err().to_string();
    assert!(error.contains("vendor holds `junk`"), "{error}");
}
