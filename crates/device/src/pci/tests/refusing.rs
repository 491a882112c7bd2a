//! Refusals, and that they write nothing.

use rustix::io::Errno;

use super::super::fake::{Machine, device};
use super::super::{PciAddress, PciError};

/// Tries to bind, and returns the refusal, which must have written nothing.
fn refused(prepare: impl FnOnce(&Machine, PciAddress)) -> String {
    let (machine, address) = Machine::with_disk();
    prepare(&machine, address);
    let error = machine.sysfs().bind(address).unwrap_err();
    untouched(&machine, address, &error)
}

/// Refuses to give a controller back, and checks that nothing was written.
fn kept(prepare: impl FnOnce(&Machine)) -> String {
    let machine = Machine::new();
    let address = machine.function("01:00.0", "0x010802", Some("vfio-pci"), Some(7));
    prepare(&machine);
    let error = machine.sysfs().unbind(address).unwrap_err();
    untouched(&machine, address, &error)
}

fn untouched(machine: &Machine, address: PciAddress, error: &PciError) -> String {
    assert_eq!(machine.writes(), [], "{error}");
    assert_eq!(machine.driver_override(address), "(null)\n");
    let text = error.to_string();
    assert!(!text.contains('\n'), "more than one line: {text}");
    text
}

#[test]
fn a_disk_in_use_is_refused_and_every_use_named() {
    let error = refused(|m, _| {
        m.append(
            "proc/1/mountinfo",
            "30 21 259:2 / / rw - ext4 /dev/nvme0n1p2 rw",
        );
        m.append("proc/swaps", "/dev/nvme0n1p1 partition\t1024\t0\t-2");
        m.hold("nvme0n1", "md0", "9:0");
    });
    assert_eq!(
        error,
        "0000:01:00.0 is in use (nvme0n1 held by md0, mounted: nvme0n1p2 on /, \
         swap on nvme0n1p1): stop what uses it first"
    );
}

#[test]
fn a_mounted_disk_is_refused() {
    let error = refused(|m, _| {
        m.append(
            "proc/1/mountinfo",
            "30 21 259:2 / / rw - ext4 /dev/nvme0n1p2 rw",
        );
    });
    assert!(error.contains("mounted: nvme0n1p2 on /"), "{error}");
}

#[test]
fn a_swap_disk_is_refused() {
    let error = refused(|m, _| {
        m.append("proc/swaps", "/dev/nvme0n1p1 partition\t1024\t0\t-2");
    });
    assert!(error.contains("swap on nvme0n1p1"), "{error}");
}

#[test]
fn a_member_of_a_raid_is_refused() {
    let error = refused(|m, _| m.hold("nvme0n1", "md0", "9:0"));
    assert!(error.contains("held by md0"), "{error}");
}

#[test]
fn a_partition_under_the_device_mapper_is_refused() {
    let error = refused(|m, _| m.hold("nvme0n1p2", "dm-0", "253:0"));
    assert!(error.contains("nvme0n1p2 held by dm-0"), "{error}");
}

#[test]
fn a_claimed_disk_is_refused() {
    let error = refused(|m, _| m.busy("nvme0n1"));
    assert!(error.contains("opened exclusively"), "{error}");
}

#[test]
fn a_user_who_is_not_root_is_refused() {
    for errno in [Errno::ACCESS, Errno::PERM] {
        let error = refused(|m, a| m.deny(&format!("{}/driver_override", device(a)), errno));
        assert!(error.contains("no permission to write"), "{error}");
        assert!(error.ends_with("run as root"), "{error}");
    }
}

#[test]
fn no_iommu_group_is_refused_with_how_to_get_one() {
    let error = refused(|m, a| m.remove(&format!("{}/iommu_group", device(a))));
    assert!(error.contains("intel_iommu=on or amd_iommu=on"), "{error}");
}

#[test]
fn a_missing_vfio_pci_is_refused_with_how_to_load_it() {
    let error = refused(|m, _| m.remove("sys/bus/pci/drivers/vfio-pci"));
    assert!(error.contains("modprobe vfio-pci"), "{error}");
}

#[test]
fn a_group_shared_with_host_drivers_is_refused_and_they_are_named() {
    let error = refused(|m, _| {
        m.function("0000:00:1c.0", "0x060400", Some("pcieport"), Some(7));
        m.function("0000:01:00.1", "0x010802", Some("nvme"), Some(7));
        m.function("0000:02:00.0", "0x020000", Some("igb"), Some(7));
        m.function("0000:02:00.1", "0x020000", None, Some(7));
    });
    assert!(
        error.contains("group 7 of 0000:01:00.0 also holds 0000:02:00.0 (igb): release these"),
        "{error}"
    );
}

#[test]
fn a_group_with_another_controller_in_use_is_refused_and_the_use_named() {
    let error = refused(|m, _| {
        second(m);
        m.append(
            "proc/1/mountinfo",
            "30 21 259:9 / /data rw - ext4 /dev/nvme1n1 rw",
        );
    });
    assert!(
        error.contains("also holds 0000:01:00.1 (nvme, mounted: nvme1n1 on /data): release"),
        "{error}"
    );
}

/// Adds another controller in the group of the first, with the disk `nvme1n1`.
fn second(machine: &Machine) {
    let second = machine.function("0000:01:00.1", "0x010802", Some("nvme"), Some(7));
    machine.dir(&format!("{}/nvme/nvme1/nvme1n1", device(second)));
    machine.block("nvme1n1", "259:9");
}

#[test]
fn a_driver_of_somebody_else_is_refused() {
    let error = refused(|m, a| {
        m.remove(&format!("{}/driver", device(a)));
        m.link(&format!("{}/driver", device(a)), "../uio_pci_generic");
    });
    assert!(error.contains("bound to uio_pci_generic"), "{error}");
}

#[test]
fn what_is_no_nvme_controller_is_refused_in_both_directions() {
    let machine = Machine::new();
    let nic = machine.function("02:00.0", "0x020000", Some("vfio-pci"), Some(3));
    let sysfs = machine.sysfs();
    untouched(&machine, nic, &sysfs.bind(nic).unwrap_err());
    untouched(&machine, nic, &sysfs.unbind(nic).unwrap_err());
    let absent = "09:00.0".parse().unwrap();
    let error = sysfs.bind(absent).unwrap_err();
    assert!(error.to_string().contains("no PCI device 0000:09:00.0"));
}

#[test]
fn a_group_that_a_process_has_open_is_kept_and_the_process_named() {
    let error = kept(|m| m.process(4242, "qemu", "/dev/vfio/7"));
    assert_eq!(
        error,
        "0000:01:00.0 is open through /dev/vfio/7 by process 4242 (qemu): end that process first"
    );
}

#[test]
fn a_device_node_that_a_process_has_open_is_kept() {
    let error = kept(|m| {
        m.dir("sys/bus/pci/devices/0000:01:00.0/vfio-dev/vfio2");
        m.process(7, "joulio", "/dev/vfio/devices/vfio2");
    });
    assert!(error.contains("process 7 (joulio)"), "{error}");
}

#[test]
fn a_device_descriptor_is_distinguished_by_its_fdinfo() {
    let open = |m: &Machine, device: &str| {
        m.process(7, "joulio", "anon_inode:[vfio-device]");
        m.file(
            "proc/7/fdinfo/9",
            &format!("pos:\t0\nvfio-device-syspath: /sys/devices/pci0000:00/{device}\n"),
        );
    };
    let error = kept(|m| open(m, "0000:01:00.0"));
    assert!(error.contains("[vfio-device] by process 7"), "{error}");

    let machine = Machine::new();
    let address = machine.function("01:00.0", "0x010802", Some("vfio-pci"), Some(7));
    open(&machine, "0000:05:00.0");
    machine.process(8, "other", "/dev/vfio/77");
    machine.sysfs().unbind(address).unwrap();
}
