//! Sensors of the kernel's hardware monitoring.

use crate::common::*;
use joulio_energy::{
    Boundary, FindingState, MeterError, MeterKind, Meters, Place, Select, WindowError, Zone,
};
use joulio_units::{Nanos, Watts};
use std::sync::Arc;

/// Adds `hwmonN` of the driver `name`.
fn chip<'a>(tree: &'a Tree, number: u32, name: &str, files: &[(&str, &str)]) -> &'a Tree {
    let at = |file: &str| format!("/sys/class/hwmon/hwmon{number}/{file}");
    tree.file(&at("name"), format!("{name}\n"));
    for (file, text) in files {
        tree.file(&at(file), format!("{text}\n"));
    }
    tree
}

fn choose(words: &[&str]) -> Select {
    let mut select = Select::all();
    words
        .iter()
        .for_each(|word| select.extend(word.parse().expect(word)));
    select
}

/// Returns a board with an ACPI power meter, two power supplies, an unknown sensor, and the temperature of a disk.
fn board() -> Tree {
    let tree = Tree::new();
    chip(
        &tree,
        0,
        "power_meter",
        &[
            ("power1_average", "250000000"),
            ("power1_average_interval", "2000"),
            ("power1_accuracy", "95.0%"),
        ],
    );
    for (number, address) in [(1, "7-0058"), (2, "7-0059")] {
        chip(
            &tree,
            number,
            "cffps2",
            &[
                ("power1_input", "130000000"),
                ("power1_label", "pin"),
                ("power2_input", "120000000"),
                ("power2_label", "pout1"),
            ],
        );
        let device = tree.path(&format!("/sys/devices/i2c/{address}"));
        std::fs::create_dir_all(&device).unwrap();
        std::os::unix::fs::symlink(
            &device,
            tree.path(&format!("/sys/class/hwmon/hwmon{number}/device")),
        )
        .unwrap();
    }
    chip(
        &tree,
        10,
        "ina226",
        &[("power1_input", "5000000"), ("update_interval", "500")],
    );
    chip(&tree, 11, "nvme", &[("temp1_input", "40000")]);
    tree
}

#[test]
fn what_a_sensor_includes_is_known_of_some() {
    let tree = board();
    let discovery = Meters::discover(&tree.root(), &Select::all());
    assert_eq!(
        readable(&discovery),
        [
            "hwmon:power_meter/power1",
            "hwmon:cffps2@7-0058/power1",
            "hwmon:cffps2@7-0059/power1"
        ]
    );
    let about = discovery.meters.about();
    assert_eq!(about[0].zone, Zone::machine(Boundary::Wall));
    assert_eq!(about[1].zone.place, Place::Part("cffps2@7-0058 pin".into()));
    assert_eq!(
        about[0].kind,
        MeterKind::Power {
            step: Watts(1e-6),
            update: Nanos::from_millis(2_000)
        }
    );
    assert!(about[0].notes[0].contains("95.0%"));
    for name in ["hwmon:ina226/power1", "hwmon:cffps2@7-0058/power2"] {
        let FindingState::Unused { why } = state(&discovery, name) else {
            panic!("{:?}", discovery.others);
        };
        assert!(why.contains(&format!("--meter {name}=BOUNDARY")), "{why}");
    }
}

#[test]
fn the_user_may_know_what_a_sensor_includes() {
    let tree = board();
    let discovery = Meters::discover(&tree.root(), &choose(&["hwmon:ina226/power1=device"]));
    let about = discovery.meters.about();
    let found = about
        .iter()
        .find(|about| about.name == "hwmon:ina226/power1")
        .unwrap();
    assert_eq!(found.zone.boundary, Boundary::Device);
    assert_eq!(
        found.kind,
        MeterKind::Power {
            step: Watts(1e-6),
            update: Nanos::from_millis(500)
        }
    );
    assert_eq!(about.len(), 4, "beside all others");
}

#[test]
fn the_mean_is_read_where_there_is_one() {
    let tree = Tree::new();
    chip(
        &tree,
        0,
        "power_meter",
        &[("power1_average", "1000000"), ("power1_input", "9000000")],
    );
    let clock = TestClock::at(SECOND);
    let mut discovery = Meters::discover(&tree.root().with_clock(clock.clone()), &Select::all());
    let window = discovery.meters.open_unsampled();
    clock.advance(Nanos(2 * SECOND.0));
    let figure = window.close(None).remove(0).figure.unwrap();
    assert!((figure.total.watts().0 - 1.0).abs() < 1e-6);
}

#[test]
fn amds_energy_driver_has_sockets_and_single_cores() {
    let tree = Tree::new();
    chip(
        &tree,
        0,
        "amd_energy",
        &[
            ("energy1_input", "1000"),
            ("energy1_label", "Ecore000"),
            ("energy2_input", "5000"),
            ("energy2_label", "Esocket1"),
        ],
    );
    let discovery = Meters::discover(&tree.root(), &Select::all());
    assert_eq!(
        discovery.meters.about()[0].zone,
        Zone::package(Boundary::Package, 1)
    );
    assert!(matches!(
        state(&discovery, "hwmon:amd_energy/energy1"),
        FindingState::Unused { .. }
    ));
}

#[test]
fn an_energy_counter_that_goes_back_was_reset() {
    let tree = Tree::new();
    chip(
        &tree,
        0,
        "amd_energy",
        &[("energy1_input", "5000"), ("energy1_label", "Esocket0")],
    );
    let clock = TestClock::at(SECOND);
    let mut discovery = Meters::discover(&tree.root().with_clock(clock.clone()), &Select::all());
    let window = discovery.meters.open_unsampled();
    clock.advance(Nanos(2 * SECOND.0));
    tree.file("/sys/class/hwmon/hwmon0/energy1_input", "4999\n");
    let error = window.close(None).remove(0).figure.unwrap_err();
    assert!(
        matches!(
            error,
            WindowError::Meter(MeterError::WentBack {
                from: 5000,
                to: 4999,
                ..
            })
        ),
        "{error}"
    );
}

#[test]
fn a_sensor_that_says_nonsense_is_unreadable() {
    let tree = Tree::new();
    chip(
        &tree,
        0,
        "power_meter",
        &[(
            "power1_average",
            "-5 \u{1b}[2J and more than forty characters of it",
        )],
    );
    let discovery = Meters::discover(&tree.root(), &Select::all());
    let FindingState::Unreadable { why, allow: None } =
        state(&discovery, "hwmon:power_meter/power1")
    else {
        panic!("{:?}", discovery.others);
    };
    assert!(why.contains("'-5 ?[2J") && why.len() < 120, "{why}");
}

#[test]
fn a_denied_sensor_says_what_would_allow_it() {
    let tree = Tree::new();
    chip(&tree, 0, "power_meter", &[("power1_average", "1")]);
    let path = "/sys/class/hwmon/hwmon0/power1_average";
    let live = Live::new(&TestClock::at(SECOND));
    live.fails(tree.path(path), std::io::ErrorKind::PermissionDenied);
    let discovery = Meters::discover(&tree.root().with_files(Arc::new(live)), &Select::all());
    let FindingState::Unreadable { allow, .. } = state(&discovery, "hwmon:power_meter/power1")
    else {
        panic!("{:?}", discovery.others);
    };
    assert_eq!(
        allow.as_deref(),
        Some("sudo chmod a+r /sys/class/hwmon/hwmon0/power1_average")
    );
}

#[test]
fn a_choice_leaves_out_the_rest() {
    let tree = board();
    tree.cpu("GenuineIntel", "")
        .zone("intel-rapl:0", "package-0", 61_035, 0);
    let names = |words: &[&str]| readable(&Meters::discover(&tree.root(), &choose(words)));
    assert_eq!(names(&[]).len(), 4);
    assert_eq!(names(&["all"]).len(), 4);
    assert_eq!(names(&["none"]).len(), 0);
    assert_eq!(names(&["package"]), ["powercap:package-0"]);
    assert_eq!(
        names(&["powercap", "hwmon:power_meter/power1"]),
        ["powercap:package-0", "hwmon:power_meter/power1"]
    );
    assert_eq!(
        names(&["powercap", "hwmon:ina226/power1=device"]),
        ["powercap:package-0", "hwmon:ina226/power1"]
    );
    let wrong = Meters::discover(&tree.root(), &choose(&["powercap:package-7", "hwmon"]));
    assert_eq!(wrong.unmatched, ["powercap:package-7"]);
}

#[test]
fn a_wrong_word_says_which_there_are() {
    for word in ["pakage", "redfish", "hwmon:x/power1=watts", "redfish=bmc"] {
        assert!(word.parse::<Select>().is_err(), "{word}");
    }
    let said = "pakage".parse::<Select>().unwrap_err().to_string();
    assert!(
        said.contains("package") && said.contains("powercap"),
        "{said}"
    );
}

#[test]
fn without_sensors_it_names_the_places_searched() {
    let FindingState::Absent { why, .. } =
        state(&Meters::discover(&guest().root(), &Select::all()), "hwmon").clone()
    else {
        panic!("there is none");
    };
    assert_eq!(why, "no /sys/class/hwmon/hwmon*");
    let tree = Tree::new();
    chip(&tree, 0, "nvme", &[("temp1_input", "40000")]);
    let discovery = Meters::discover(&tree.root(), &Select::all());
    let FindingState::Absent { why, .. } = state(&discovery, "hwmon") else {
        panic!("{:?}", discovery.others);
    };
    assert!(why.contains("power*_average"), "{why}");
}

#[test]
fn what_a_voltage_regulator_draws_is_not_the_walls() {
    let tree = Tree::new();
    chip(
        &tree,
        0,
        "xdpe12284",
        &[("power1_input", "9000000"), ("power1_label", "pin")],
    );
    let discovery = Meters::discover(&tree.root(), &Select::all());
    assert!(discovery.meters.is_empty());
    let FindingState::Unused { why } = state(&discovery, "hwmon:xdpe12284/power1") else {
        panic!("{:?}", discovery.others);
    };
    assert!(why.contains("label 'pin'"), "{why}");
}

#[test]
fn firmware_without_a_value_is_no_reading_of_the_wall() {
    for shown in ["0", "4294967295000"] {
        let tree = Tree::new();
        chip(&tree, 0, "power_meter", &[("power1_average", shown)]);
        let discovery = Meters::discover(&tree.root(), &Select::all());
        assert!(readable(&discovery).is_empty(), "{shown}");
        let found = state(&discovery, "hwmon:power_meter/power1");
        assert!(
            matches!(found, FindingState::Unreadable { why, .. } if why.contains(shown)),
            "{found:?}"
        );
    }
}
