//! The idle baseline: which machine it is of, and when it no longer applies.

use crate::common::*;
use joulio_energy::{Baseline, BaselineError, Host, Meters, Select};
use joulio_units::Nanos;

fn machine(id: &str, kernel: &str, governors: &[&str]) -> Tree {
    let tree = server();
    tree.file("/etc/machine-id", format!("{id}\n"))
        .file("/proc/sys/kernel/osrelease", format!("{kernel}\n"));
    for (cpu, governor) in governors.iter().enumerate() {
        tree.file(
            &format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"),
            format!("{governor}\n"),
        );
    }
    tree.file(
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "not a CPU\n",
    );
    tree
}

const ID: &str = "3d1219c7c4c5404aaa1f6d2a48adfda4";

fn host(id: &str, kernel: &str, governors: &[&str]) -> Host {
    Host::of(&machine(id, kernel, governors).root()).expect("an identity")
}

fn baseline() -> Baseline {
    let tree = machine(ID, "6.12.1", &["powersave", "powersave"]);
    let clock = TestClock::at(SECOND);
    let root = tree.root().with_clock(clock.clone());
    let mut meters = Meters::discover(&root, &Select::all()).meters;
    let window = meters.open_unsampled();
    clock.advance(Nanos(60 * SECOND.0));
    Baseline::new(Host::of(&root).unwrap(), 1_700_000_000, &window.close(None))
}

#[test]
fn it_comes_back_from_its_file() {
    let baseline = baseline();
    assert_eq!(baseline.meters.len(), 4);
    let host = host(ID, "6.12.1", &["powersave"]);
    let read = Baseline::from_json(&baseline.to_json(), &host).unwrap();
    assert_eq!(read, baseline);
    assert!(read.differences(&host).is_empty());
}

#[test]
fn the_machines_id_is_not_in_it() {
    let json = baseline().to_json();
    assert!(!json.contains(&ID[..8]), "{json}");
}

#[test]
fn another_machines_is_refused() {
    let other = host("00000000000000000000000000000001", "6.12.1", &["powersave"]);
    assert_eq!(
        Baseline::from_json(&baseline().to_json(), &other),
        Err(BaselineError::OtherMachine)
    );
}

#[test]
fn what_changed_since_is_reported() {
    let now = host(ID, "6.13.0", &["powersave", "performance"]);
    let read = Baseline::from_json(&baseline().to_json(), &now).unwrap();
    assert_eq!(
        read.differences(&now),
        [
            "kernel 6.12.1 then, 6.13.0 now",
            "governor powersave then, performance, powersave now"
        ]
    );
}

#[test]
fn what_is_no_baseline_is_refused() {
    let host = host(ID, "6.12.1", &[]);
    let json = baseline().to_json();
    let wrong = [
        String::new(),
        "{}".into(),
        json.replace("\"version\": 1", "\"version\": 2"),
        json.replacen("\"watts\": 0.0", "\"watts\": 1e999", 1),
        json[..json.len() / 2].into(),
    ];
    for text in wrong {
        let error = Baseline::from_json(&text, &host).unwrap_err();
        assert!(matches!(error, BaselineError::Malformed(_)), "{error}");
        assert!(error.to_string().contains("--idle"), "{error}");
    }
}

#[test]
fn a_machine_without_an_identity_has_no_baseline() {
    assert!(Host::of(&server().root()).is_err());
    assert!(Host::of(&machine("", "6.12.1", &[]).root()).is_err());
}
