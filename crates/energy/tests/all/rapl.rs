//! RAPL through powercap, on captured machines.

use crate::common::*;
use joulio_energy::{
    Boundary, Discovery, Filtering, FindingState, MeterKind, Meters, Place, Root, Select, Zone,
};
use std::io::ErrorKind;
use std::sync::Arc;

fn discover(root: &Root) -> Discovery {
    Meters::discover(root, &Select::all())
}

#[test]
fn a_server_has_its_packages_and_their_memory() {
    let tree = server();
    let discovery = discover(&tree.root());
    assert_eq!(
        readable(&discovery),
        [
            "powercap:package-0",
            "powercap:package-1",
            "powercap:dram-0",
            "powercap:dram-1"
        ]
    );
    let zones: Vec<_> = discovery
        .meters
        .about()
        .into_iter()
        .map(|about| about.zone)
        .collect();
    assert_eq!(zones[3], Zone::package(Boundary::Dram, 1));
}

#[test]
fn steps_and_ranges_are_the_hardwares() {
    let tree = server();
    let discovery = discover(&tree.root());
    let MeterKind::Counter {
        step, wraps_after, ..
    } = kind(&discovery, "powercap:dram-0")
    else {
        panic!("RAPL counts");
    };
    assert!((step.0 - 15.258e-6).abs() < 1e-12, "{step}");
    // 65.5 kJ at one kilowatt.
    assert_eq!(wraps_after.map(|time| time.seconds().round()), Some(66.0));
}

#[test]
fn a_higher_limit_makes_a_wrap_come_sooner() {
    let tree = server();
    tree.file(
        "/sys/class/powercap/intel-rapl:0:0/constraint_0_power_limit_uw",
        "4000000000\n",
    )
    .file(
        "/sys/class/powercap/intel-rapl:0:0/constraint_1_power_limit_uw",
        "4294967295000000\n",
    );
    let discovery = discover(&tree.root());
    let MeterKind::Counter { wraps_after, .. } = kind(&discovery, "powercap:dram-0") else {
        panic!("RAPL counts");
    };
    assert_eq!(wraps_after.map(|time| time.seconds().round()), Some(8.0));
}

#[test]
fn the_mapped_package_of_a_client_is_not_a_second_one() {
    let tree = client();
    let discovery = discover(&tree.root());
    assert_eq!(
        readable(&discovery),
        ["powercap:package-0", "powercap:psys-0", "powercap:cores-0"]
    );
    assert_eq!(
        *state(&discovery, "powercap-mmio:package-0"),
        FindingState::Unused {
            why: "the same zone as powercap:package-0".into()
        }
    );
    assert!(matches!(
        state(&discovery, "powercap:uncore@intel-rapl:0:1"),
        FindingState::Unused { .. }
    ));
}

#[test]
fn the_mapped_package_stands_in_where_the_msrs_are_denied() {
    let (tree, clock) = (client(), TestClock::at(SECOND));
    let live = Live::new(&clock);
    for zone in ["intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1"] {
        live.fails(
            tree.path(&format!("/sys/class/powercap/{zone}/energy_uj")),
            ErrorKind::PermissionDenied,
        );
    }
    let discovery = discover(&tree.root().with_files(Arc::new(live)));
    assert_eq!(readable(&discovery), ["powercap-mmio:package-0"]);
}

#[test]
fn a_denied_counter_says_what_would_allow_it() {
    let (tree, clock) = (server(), TestClock::at(SECOND));
    let live = Live::new(&clock);
    live.fails(
        tree.path("/sys/class/powercap/intel-rapl:1/energy_uj"),
        ErrorKind::PermissionDenied,
    );
    let discovery = discover(&tree.root().with_files(Arc::new(live)));
    assert_eq!(readable(&discovery).len(), 3);
    let FindingState::Unreadable {
        why,
        allow: Some(allow),
    } = state(&discovery, "powercap:package-1")
    else {
        panic!("{:?}", discovery.others);
    };
    assert!(why.contains("permission denied"), "{why}");
    assert!(
        allow.starts_with("sudo chmod a+r /sys/class/powercap/intel-rapl:1/energy_uj"),
        "{allow}"
    );
}

#[test]
fn a_platform_in_whole_joules_is_known_by_its_range() {
    let tree = spr();
    let discovery = discover(&tree.root());
    let MeterKind::Counter { step, .. } = kind(&discovery, "powercap:psys-0") else {
        panic!("RAPL counts");
    };
    assert!((step.0 - 1.0).abs() < 1e-9, "{step}");
    let about = discovery.meters.about();
    let psys = about
        .iter()
        .find(|about| about.zone.boundary == Boundary::Psys)
        .unwrap();
    assert!(
        psys.notes.iter().any(|note| note.contains("steps of 1 J")),
        "{:?}",
        psys.notes
    );
    let package = about
        .iter()
        .find(|about| about.zone.boundary == Boundary::Package)
        .unwrap();
    assert!(package.notes.is_empty());
}

#[test]
fn on_amd_a_core_is_not_the_cores() {
    let tree = amd();
    let discovery = discover(&tree.root());
    assert_eq!(readable(&discovery), ["powercap:package-0"]);
    let FindingState::Unused { why } = state(&discovery, "powercap:cores-0") else {
        panic!("{:?}", discovery.others);
    };
    assert!(why.contains("single core"), "{why}");
}

#[test]
fn dies_of_a_package_are_zones_of_their_own() {
    let tree = Tree::new();
    tree.cpu("GenuineIntel", "")
        .zone("intel-rapl:0", "package-0-die-0", 61_035, 0)
        .zone("intel-rapl:1", "package-0-die-1", 61_035, 0)
        .zone("intel-rapl:1:0", "dram", 61_035, 0);
    let discovery = discover(&tree.root());
    let die = |die| Place::Package {
        package: 0,
        die: Some(die),
    };
    let places: Vec<_> = discovery
        .meters
        .about()
        .into_iter()
        .map(|about| about.zone.place)
        .collect();
    assert_eq!(places, [die(0), die(1), die(1)]);
}

#[test]
fn a_range_that_no_rapl_has_is_refused() {
    let tree = server();
    tree.file(
        "/sys/class/powercap/intel-rapl:0/max_energy_range_uj",
        "0\n",
    );
    let discovery = discover(&tree.root());
    assert!(matches!(
        state(&discovery, "powercap:package-0"),
        FindingState::Unreadable { .. }
    ));
}

#[test]
fn a_guest_reads_that_loading_a_driver_does_not_help() {
    let tree = guest();
    let discovery = discover(&tree.root());
    assert!(discovery.meters.is_empty());
    for name in ["perf", "powercap"] {
        let FindingState::Absent { why, allow: None } = state(&discovery, name) else {
            panic!("{:?}", discovery.others);
        };
        assert!(
            why.contains("/sys/") && why.contains("virtual machine"),
            "{why}"
        );
    }
}

#[test]
fn a_machine_without_the_drivers_reads_their_names() {
    let tree = Tree::new();
    tree.cpu("GenuineIntel", "");
    let discovery = discover(&tree.root());
    let allow = |name| match state(&discovery, name) {
        FindingState::Absent { allow, .. } => allow.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(allow("perf"), "sudo modprobe rapl");
    assert_eq!(allow("powercap"), "sudo modprobe intel_rapl_msr");
    assert_eq!(allow("ipmi:dcmi"), "sudo modprobe -a ipmi_si ipmi_devintf");
}

/// Adds `/dev/cpu/0/msr` with eight bytes at two offsets.
fn msrs(tree: &Tree, capabilities: u64, controls: u64) {
    let mut bytes = vec![0; 0x200];
    bytes[0x10a..0x112].copy_from_slice(&capabilities.to_le_bytes());
    bytes[0xbc..0xc4].copy_from_slice(&controls.to_le_bytes());
    tree.file("/dev/cpu/0/msr", bytes);
}

#[test]
fn filtering_is_reported_where_the_msrs_can_be_read() {
    let tree = server();
    let cases = [
        (1 << 11, 1, Filtering::On),
        (1 << 11, 2, Filtering::Off),
        (1 << 10, 1, Filtering::None),
    ];
    for (capabilities, controls, expected) in cases {
        msrs(&tree, capabilities, controls);
        assert_eq!(Filtering::of(&tree.root()), expected);
    }
    assert_eq!(Filtering::of(&amd().root()), Filtering::None);
}

#[test]
fn filtering_is_unknown_with_a_reason_otherwise() {
    let Filtering::Unknown { why } = Filtering::of(&server().root()) else {
        panic!("there is no MSR to read");
    };
    assert!(why.contains("/dev/cpu/0/msr"), "{why}");
    let tree = server();
    tree.file("/dev/cpu/0/msr", [0; 0x10c]);
    assert!(matches!(
        Filtering::of(&tree.root()),
        Filtering::Unknown { .. }
    ));
}
