//! The energy of `joulio bench`: meters on captured trees, the model beside them.

mod common;

use common::machine::file;
use common::{begin, joulio, json, refused};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::Duration;
use tempfile::{TempDir, tempdir};

/// A server with two packages, whose counters stand still.
fn two_packages() -> TempDir {
    let tree = tempdir().expect("a temporary directory");
    file(&tree, "proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
    file(
        &tree,
        "etc/machine-id",
        "3d1219c7c4c5404aaa1f6d2a48adfda4\n",
    );
    for package in 0..2 {
        let zone = format!("sys/class/powercap/intel-rapl:{package}");
        file(
            &tree,
            &format!("{zone}/name"),
            &format!("package-{package}\n"),
        );
        file(
            &tree,
            &format!("{zone}/max_energy_range_uj"),
            "262143328850\n",
        );
        file(&tree, &format!("{zone}/energy_uj"), "1000000\n");
    }
    tree
}

fn line(tree: &TempDir, more: &str) -> String {
    let root = tree.path().display();
    format!("bench --root {root} --device emulated:instant --completion interrupt {more}")
}

fn report(tree: &TempDir, more: &str) -> Value {
    json(&line(tree, &format!("--output json {more}")))
}

fn figures(report: &Value) -> &Vec<Value> {
    report["runs"][0]["energy"].as_array().expect("figures")
}

fn figure<'a>(report: &'a Value, zone: &str) -> &'a Value {
    let found = figures(report).iter().find(|figure| figure["zone"] == zone);
    found.unwrap_or_else(|| panic!("no {zone} in {report:#}"))
}

#[test]
fn the_joules_of_a_run_are_those_of_the_counters() {
    let tree = two_packages();
    let tree = Arc::new(tree);
    let served = Arc::clone(&tree);
    // In the middle of the window, wherever that is: after both edges' looks at the counters.
    let spent = spawn(move || {
        sleep(Duration::from_millis(1200));
        for (package, microjoules) in [31_000_000, 13_000_000].iter().enumerate() {
            let counter = format!("sys/class/powercap/intel-rapl:{package}/energy_uj");
            file(&served, &counter, &format!("{microjoules}\n"));
        }
    });
    let report = report(&tree, "--number_ios 1000 --window 3s");
    spent.join().expect("written");
    for (zone, joules) in [
        ("package-0", 30.0),
        ("package-1", 12.0),
        ("package-0 + package-1", 42.0),
    ] {
        let figure = figure(&report, zone);
        let told = figure["joules"].as_f64().expect("joules");
        let error = figure["error_joules"].as_f64().expect("an error");
        // A sum is of mean watts over the shorter window, which may have ended a look earlier.
        let off = if zone.contains('+') { error } else { 1e-9 };
        assert!((told - joules).abs() <= off, "{figure:#}");
        assert_eq!(figure["modelled"], false);
        assert_eq!(figure["idle_subtracted"], false);
        assert_eq!(figure["band_joules"], Value::Null);
        assert!(error > 0.0);
        assert!(figure["window_seconds"].as_f64().expect("seconds") >= 2.9);
        // The work was done early: what it costs is all of the window's energy.
        let per_io = figure["joules_per_io"].as_f64().expect("per I/O");
        assert!((per_io * 1000.0 / joules - 1.0).abs() < 0.05, "{figure:#}");
    }
    let run = &report["runs"][0];
    assert_eq!(run["window"]["fits"], true);
    assert_eq!(run["window"]["requested_seconds"], 3.0);
    let worked = run["seconds"].as_f64().expect("seconds");
    let idle = run["window"]["idle_seconds"].as_f64().expect("seconds");
    let all = run["window"]["seconds"].as_f64().expect("seconds");
    assert!((worked + idle - all).abs() < 1e-6 && idle > 0.0 && all >= 3.0);
    // The packages tell what the machine draws, and no profile fits it: there is no model.
    let modelled = figures(&report)
        .iter()
        .filter(|figure| figure["modelled"] == true);
    let sources: Vec<_> = modelled.map(|figure| &figure["source"]).collect();
    assert_eq!(sources, ["nvme:emulated:instant"]);
    assert_eq!(report["manifest"]["energy"]["machine_profile"], Value::Null);
    let meters = report["manifest"]["energy"]["meters"]
        .as_array()
        .expect("meters");
    assert_eq!(meters.len(), 3);
}

#[test]
fn one_package_of_two_does_not_stand_for_the_machine() {
    let tree = two_packages();
    let more = "--number_ios 100 --window 1s --meter package";
    let mut child = begin(&line(&tree, more));
    let mut table = BufReader::new(child.stdout.take().expect("piped"));
    let mut text = String::new();
    table.read_line(&mut text).expect("a heading");
    // The meters have been found; the run has yet to end.
    let counter = "sys/class/powercap/intel-rapl:1/energy_uj";
    fs::remove_file(tree.path().join(counter)).expect("removed");
    table.read_to_string(&mut text).expect("the table");
    assert!(child.wait().expect("it ends").success(), "{text}");
    let why = "package-0 + package-1: powercap:package-1 has no figure";
    assert!(text.contains(why), "{text}");
    // Its own line has its watts, and the run's none.
    assert!(text.contains("powercap:package-0  0.00"), "{text}");
    assert!(!text.contains("measured, package-0"), "{text}");
}

#[test]
fn the_idle_baseline_is_taken_off_and_kept_in_the_manifest() {
    let tree = two_packages();
    let root = tree.path().display().to_string();
    let baseline = tree.path().join("idle.json");
    let kept = baseline.display().to_string();
    joulio(&format!("power --root {root} --idle 1s --file {kept}"))
        .assert()
        .success();
    let text = fs::read_to_string(&baseline).expect("kept");
    // The packages drew nothing; let it be two watts.
    let two = text.replace("\"watts\": 0.0", "\"watts\": 2.0");
    assert_ne!(two, text);
    fs::write(&baseline, two).expect("written");
    let report = report(
        &tree,
        &format!("--runtime 1 --ramp_time 0 --idle-baseline {kept}"),
    );
    let above: Vec<_> = figures(&report)
        .iter()
        .filter(|figure| figure["idle_subtracted"] == true)
        .collect();
    assert_eq!(above.len(), 3, "{report:#}");
    for figure in above {
        let watts = figure["watts"].as_f64().expect("watts");
        let idle = if figure["zone"] == "package-0 + package-1" {
            4.0
        } else {
            2.0
        };
        assert!((watts + idle).abs() < 0.1, "{figure:#}");
    }
    let note = &report["manifest"]["energy"]["idle_baseline"];
    assert_eq!(note["meters"].as_array().expect("meters").len(), 2);
    assert_eq!(note["differences"], Value::Array(Vec::new()));
    // Another machine's is refused, before any I/O.
    file(&tree, "etc/machine-id", "another\n");
    let bad = line(&tree, &format!("--runtime 1 --idle-baseline {kept}"));
    let told = refused(tree.path(), &bad);
    assert!(told.contains("another machine's"), "{told}");
}

#[test]
fn meters_are_chosen_and_the_model_asked_for_by_name() {
    let tree = two_packages();
    let all = report(
        &tree,
        "--runtime 1 --ramp_time 0 --meter powercap:package-1 --machine generic-server",
    );
    let told: Vec<_> = figures(&all).iter().map(|figure| &figure["zone"]).collect();
    assert_eq!(told, ["package-1", "wall"]);
    let model = figure(&all, "wall");
    assert_eq!(model["modelled"], true);
    let band = model["band_joules"].as_array().expect("a band");
    let joules = model["joules"].as_f64().expect("joules");
    let (low, high) = (band[0].as_f64().unwrap(), band[1].as_f64().unwrap());
    assert!(low < joules && joules < high, "{model:#}");
    let device = report(&tree, "--number_ios 10 --meter nvme:emulated:instant");
    // Too short a run for a figure, and it says so.
    let without = device["runs"][0]["unmetered"].as_array().expect("a list");
    assert_eq!(without[0]["meter"], "nvme:emulated:instant");
    let why = without[0]["why"].as_str().expect("why");
    assert!(why.contains("needs 1 s"), "{why}");
    for wrong in ["--meter perf:package-9", "--meter nvme:pcie:00:00.0"] {
        let told = refused(tree.path(), &line(&tree, wrong));
        assert!(told.contains("there is no"), "{told}");
    }
}

#[test]
fn a_window_goes_with_fixed_work() {
    let tree = two_packages();
    for (wrong, told) in [
        ("--window 3s", "--number_ios"),
        ("--window 3s --runtime 2", "--number_ios"),
        ("--window 900ms --number_ios 5", "less than a second"),
    ] {
        let error = refused(tree.path(), &line(&tree, wrong));
        assert!(
            error.contains("--window") && error.contains(told),
            "{error}"
        );
    }
    let report = report(&tree, "--rate_iops 4 --number_ios 8 --window 1s");
    assert_eq!(report["runs"][0]["window"]["fits"], false);
}

#[test]
fn without_a_meter_the_table_says_modelled() {
    let tree = tempdir().expect("a temporary directory");
    file(
        &tree,
        "proc/cpuinfo",
        "vendor_id\t: GenuineIntel\nflags\t: hypervisor\n",
    );
    let assert = joulio(&line(&tree, "--number_ios 100 --meter none"))
        .assert()
        .success();
    let table = String::from_utf8(assert.get_output().stdout.clone()).expect("UTF-8");
    assert!(
        table.contains("W*") && table.contains("modelled, not measured"),
        "{table}"
    );
    assert!(
        table.contains(" from ") && table.contains("ends of their bands"),
        "{table}"
    );
}
