//! Uses of a disk.

use super::super::fake::{Machine, device};
use super::super::{PciError, Sysfs};

const MOUNTS: &str = "proc/1/mountinfo";

/// Returns the uses of the only disk, as the user reads them.
fn uses(prepare: impl FnOnce(&Machine)) -> Vec<String> {
    let (machine, address) = Machine::with_disk();
    prepare(&machine);
    let uses = machine.sysfs().in_use(address).unwrap();
    assert_eq!(machine.writes(), [], "a search wrote something");
    uses.iter().map(ToString::to_string).collect()
}

#[test]
fn a_disk_that_nothing_touches_is_free() {
    assert!(uses(|_| {}).is_empty());
}

#[test]
fn a_mount_is_found_by_number_and_its_point_unescaped() {
    let found = uses(|m| {
        m.append(MOUNTS, r"30 21 259:2 / /my\040data rw - ext4 /dev/root rw");
    });
    assert_eq!(found, ["mounted: nvme0n1p2 on /my data"]);
}

#[test]
fn a_mount_with_a_number_of_its_own_is_found_by_its_source() {
    let found = uses(|m| {
        m.link("dev/disk/by-label/pool", "../../nvme0n1p1");
        m.append(
            MOUNTS,
            "30 21 0:44 /@ /pool rw shared:3 master:1 - btrfs /dev/disk/by-label/pool rw",
        );
    });
    assert_eq!(found, ["mounted: nvme0n1p1 on /pool"]);
}

#[test]
fn our_own_mounts_serve_where_those_of_process_1_cannot_be_read() {
    let found = uses(|m| {
        m.remove("proc/1");
        m.file(
            "proc/self/mountinfo",
            "30 21 259:0 / /data rw - xfs /dev/nvme0n1 rw\n",
        );
    });
    assert_eq!(found, ["mounted: nvme0n1 on /data"]);
}

#[test]
fn swap_is_found_by_its_resolved_path() {
    let found = uses(|m| {
        m.link("dev/disk/by-label/swap", "../../nvme0n1p1");
        m.append("proc/swaps", "/swapfile file\t\t1024\t0\t-3");
        m.append(
            "proc/swaps",
            "/dev/disk/by-label/swap                partition\t1024\t0\t-2",
        );
    });
    assert_eq!(found, ["swap on nvme0n1p1"]);
}

#[test]
fn a_raid_over_the_disk_holds_it() {
    assert_eq!(
        uses(|m| m.hold("nvme0n1", "md0", "9:0")),
        ["nvme0n1 held by md0"]
    );
}

#[test]
fn stacked_holders_are_followed_up_to_the_mount() {
    let found = uses(|m| {
        m.hold("nvme0n1p2", "dm-0", "253:0");
        m.file("sys/class/block/dm-0/dm/name", "luks\n");
        m.hold("dm-0", "md0", "9:0");
        m.partition("md0", "md0p1", "259:9");
        m.append(MOUNTS, "30 21 259:9 / /home rw - ext4 /dev/md0p1 rw");
    });
    assert_eq!(
        found,
        [
            "nvme0n1p2 held by dm-0 (luks)",
            "dm-0 held by md0",
            "mounted: md0p1 on /home"
        ]
    );
}

#[test]
fn a_loop_device_over_a_partition_holds_it() {
    let found = uses(|m| {
        m.block("loop0", "7:0");
        m.file(
            "sys/class/block/loop0/loop/backing_file",
            "/dev/nvme0n1p1\n",
        );
    });
    assert_eq!(found, ["nvme0n1p1 held by loop0"]);
}

#[test]
fn a_claim_that_no_table_explains_is_reported_as_such() {
    assert_eq!(uses(|m| m.busy("nvme0n1")), ["nvme0n1 opened exclusively"]);
}

#[test]
fn a_claim_that_a_mount_explains_is_not_reported_twice() {
    let found = uses(|m| {
        m.busy("nvme0n1");
        m.append(MOUNTS, "30 21 259:2 / /data rw - ext4 /dev/nvme0n1p2 rw");
    });
    assert_eq!(found, ["mounted: nvme0n1p2 on /data"]);
}

#[test]
fn a_disk_without_a_node_is_not_claimed() {
    assert!(uses(|m| m.remove("dev/nvme0n1")).is_empty());
}

#[test]
fn a_process_with_the_generic_device_open_uses_it() {
    assert_eq!(
        uses(|m| m.process(812, "fio", "/dev/ng0n1")),
        ["/dev/ng0n1 opened by process 812 (fio)"]
    );
}

#[test]
fn a_served_namespace_is_in_use_and_a_disabled_one_is_not() {
    let namespace = "sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1";
    let serve = |enable: &'static str| {
        uses(|m| {
            m.file(&format!("{namespace}/device_path"), "/dev/nvme0n1\n");
            m.file(&format!("{namespace}/enable"), enable);
        })
    };
    assert_eq!(
        serve("1\n"),
        ["nvme0n1 exported by the NVMe target as nqn.x"]
    );
    assert!(serve("0\n").is_empty());
}

#[test]
fn the_head_of_multipath_is_checked_not_its_hidden_path() {
    let machine = Machine::new();
    let address = machine.function("01:00.0", "0x010802", Some("nvme"), Some(7));
    machine.dir(&format!("{}/nvme/nvme3/nvme0c3n1", device(address)));
    machine.block("nvme0n1", "259:0");
    machine.append(MOUNTS, "30 21 259:0 / /data rw - xfs /dev/nvme0n1 rw");
    let uses = machine.sysfs().in_use(address).unwrap();
    assert_eq!(uses.len(), 1);
    assert_eq!(uses[0].to_string(), "mounted: nvme0n1 on /data");
}

#[test]
fn what_may_not_be_inspected_is_an_error_not_free() {
    let (machine, address) = Machine::with_disk();
    machine.deny("dev/nvme0n1", rustix::io::Errno::ACCESS);
    let error = machine.sysfs().in_use(address).unwrap_err();
    assert!(matches!(error, PciError::NotPermitted { .. }), "{error}");
    assert!(error.to_string().ends_with("run as root"));

    let (machine, address) = Machine::with_disk();
    machine.remove("proc/1");
    assert!(machine.sysfs().in_use(address).is_err());
}

#[test]
fn this_machine_can_be_listed() {
    // Nothing is asserted about the content: only that the real trees can be read.
    Sysfs::default().nvme_controllers().unwrap();
}
