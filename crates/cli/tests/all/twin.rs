//! `joulio twin`: its output and its status.

use crate::common::{joulio, thorough};
use predicates::prelude::*;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const SHIPPED: &str = include_str!("../../../../profiles/machines/xeon-6230.toml");

/// Returns a folder of profiles with the profile of one machine, and that file.
fn of_ones_own() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let machines = folder.path().join("machines");
    fs::create_dir(&machines).unwrap();
    let file = machines.join("xeon-6230.toml");
    fs::write(&file, SHIPPED).unwrap();
    (folder, file)
}

#[test]
fn a_check_that_keeps_its_promises_says_so() {
    joulio("twin check dpas --number-ios 4000")
        .assert()
        .success()
        .stdout(predicate::str::contains("modelled"))
        .stdout(predicate::str::contains("interrupt, 4 threads: IOPS"))
        .stdout(predicate::str::contains("Every promise is kept."));
}

#[test]
fn what_contradicts_itself_or_was_not_printed_is_reported() {
    joulio("twin check HS25 --number-ios 8000")
        .assert()
        .success()
        .stdout(predicate::str::contains("330 W"))
        .stdout(predicate::str::contains(
            "which depths the means over depths are of",
        ));
}

#[test]
fn a_broken_promise_ends_with_1() {
    let (folder, file) = of_ones_own();
    let (head, tail) = SHIPPED.split_once("wake_ns = { value = ").unwrap();
    let (_, tail) = tail.split_once(',').unwrap();
    let check = |wake: &str| {
        let text = format!("{head}wake_ns = {{ value = {wake},{tail}");
        fs::write(&file, text).unwrap();
        let mut command = joulio("twin check DPAS --number-ios 4000 --profiles");
        command.arg(folder.path());
        command.assert()
    };
    check("1900")
        .code(1)
        .stdout(predicate::str::contains("DPAS: interrupt, 1 thread: IOPS"))
        .stderr(predicate::str::is_match("^joulio: \\d+ promises are broken\n$").unwrap());
    // A file that is not a valid profile is refused before anything is simulated.
    check("-5")
        .code(2)
        .stdout("")
        .stderr(predicate::str::contains("costs.wake_ns"));
    joulio("twin check DPAS --profiles /nonexistent")
        .assert()
        .code(2)
        .stderr(predicate::str::contains("has no machines/"));
}

#[test]
fn the_same_as_json() {
    let done = joulio("twin check DPAS paths --number-ios 4000 -o json")
        .assert()
        .success();
    let report: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    let numbers = report["numbers"].as_array().unwrap();
    assert!(numbers.len() > 15);
    for number in numbers {
        let (published, modelled) = (&number["published"], &number["modelled"]);
        assert!(published.is_number() && modelled.is_number(), "{number}");
        assert!(["fitted", "implied", "free"].contains(&number["basis"].as_str().unwrap()));
    }
    assert!(!report["silent"].as_array().unwrap().is_empty());
}

#[test]
fn a_source_that_is_not_there_is_refused_with_those_that_are() {
    joulio("twin check HS24")
        .assert()
        .code(2)
        .stderr(predicate::str::contains(
            "unknown source 'HS24': known are HS22, DPAS",
        ));
    joulio("twin fit paths --write --profiles /nonexistent")
        .assert()
        .code(2)
        .stderr(predicate::str::contains("--profiles"));
    // Most of a fit's figures belong to machines.
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("devices")).unwrap();
    let mut fit = joulio("twin fit paths --write --profiles");
    fit.arg(folder.path())
        .assert()
        .code(2)
        .stderr(predicate::str::contains("has no machines/:"));
}

#[test]
fn a_fit_is_written_only_when_requested_and_keeps_the_comments() {
    if !thorough() {
        return;
    }
    let (folder, file) = of_ones_own();
    // DPAS's fit changes two devices as well.
    let devices = folder.path().join("devices");
    fs::create_dir(&devices).unwrap();
    let shipped = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../profiles/devices"
    ));
    for name in ["optane-p5800x.toml", "samsung-983-zet.toml"] {
        fs::copy(shipped.join(name), devices.join(name)).unwrap();
    }
    let fit = || {
        let mut command = joulio("twin fit DPAS --profiles");
        command.arg(folder.path());
        command
    };
    fit()
        .assert()
        .success()
        .stdout(predicate::str::contains("machine:xeon-6230.costs.wake_ns"));
    assert_eq!(fs::read_to_string(&file).unwrap(), SHIPPED);
    fit().arg("--write").assert().success();
    let written = fs::read_to_string(&file).unwrap();
    let comments = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(comments(&written), comments(SHIPPED));
    assert_eq!(written.lines().count(), SHIPPED.lines().count());
}

#[test]
fn a_hold_out_of_a_source_without_one_is_refused_with_those_that_have() {
    joulio("twin fit rule --hold-out")
        .assert()
        .code(2)
        .stdout("")
        .stderr(predicate::str::contains(
            "--hold-out: none of these sources says what to withhold: name HS22, DPAS, HS23, HS25",
        ));
    joulio("twin fit --hold-out --write").assert().code(2);
}
