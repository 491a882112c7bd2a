//! `joulio calibrate --watts`, on machines' file trees and on this machine's own cores.

use crate::common::machine::{file, guest, server};
use crate::common::{failed, joulio, program, refused, thorough};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::{TempDir, tempdir};

/// As few and as short windows as possible, on a machine that may be busy.
const SHORT: &str = "--rounds 2 --window 1 --machine generic-server --allow-busy";

fn line(tree: &TempDir, more: &str) -> String {
    format!("calibrate --watts --root {} {more}", tree.path().display())
}

#[test]
fn without_a_meter_each_says_why_and_nothing_is_written() {
    let (tree, room) = (guest(), tempdir().expect("a temporary directory"));
    let assert = joulio(&line(&tree, "--write-profile here.toml"))
        .current_dir(&room)
        .assert();
    let output = assert.get_output();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), output.stdout.len()),
        (Some(2), 0),
        "{said}"
    );
    for meter in ["perf", "powercap", "hwmon", "ipmi:dcmi"] {
        let own = said
            .lines()
            .find(|line| line.starts_with(&format!("joulio: {meter}: ")));
        assert!(
            own.is_some_and(|line| line.contains("absent")),
            "{meter}: {said}"
        );
    }
    let last = said.lines().last().unwrap_or_default();
    assert!(
        last.contains("no meter of the package or the wall"),
        "{said}"
    );
    assert!(!room.path().join("here.toml").exists());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (tree, room) = (server(), tempdir().expect("a temporary directory"));
    for (line, hint) in [
        (line(&tree, "--rounds 1"), "at least 2"),
        (line(&tree, "--window 500ms"), "at least 1 s"),
        (
            line(&tree, "--states C9"),
            "'C9' is not one of pause, tpause, umwait, wake",
        ),
        (
            line(&tree, "--meter powercap:package-7"),
            "there is no powercap:package-7",
        ),
        ("calibrate --meter wall".into(), "--watts"),
        ("calibrate --states wake".into(), "--watts"),
        (
            "calibrate --watts --root /nowhere".into(),
            "/nowhere is not a folder",
        ),
        (line(&tree, "--frequencies 3GHz"), "two or more that differ"),
        (
            line(&tree, "--frequencies 3GHz,fast"),
            "'fast' is not a frequency",
        ),
        (
            line(&tree, "--frequencies 3GHz,1.2GHz"),
            "--frequencies: scaling_max_freq",
        ),
        (
            line(&tree, "--record w.json --window 9"),
            "give at least 10 s",
        ),
        (
            line(&tree, "--record w.json --write-profile here.toml"),
            "'--write-profile",
        ),
        (line(&tree, "--power-log log.csv"), "--windows"),
        (
            line(&tree, "--power-log log.csv --windows w.json"),
            "w.json: No such file",
        ),
    ] {
        let said = refused(room.path(), &line);
        assert!(said.contains(hint), "{line}: {said}");
    }
    let left = fs::read_dir(room.path()).expect("there").count();
    assert_eq!(left, 0, "nothing is written");
}

/// The counter of RAPL's captured tree does not change.
#[test]
fn a_meter_that_does_not_see_the_cores_gives_no_profile() {
    if !thorough() {
        return;
    }
    let (tree, room) = (server(), tempdir().expect("a temporary directory"));
    let line = line(
        &tree,
        &format!("{SHORT} --states pause --write-profile here.toml"),
    );
    let said = failed(room.path(), &line, 1);
    assert!(said.contains("by powercap:package-0"), "{said}");
    assert!(said.contains("cannot be told from idle ones"), "{said}");
    assert!(!room.path().join("here.toml").exists());
}

/// Creates CPU 0's idle states, of which the last but one can be the limit.
fn idle_states(tree: &TempDir) {
    for (number, name, latency) in [(0, "POLL", 0), (1, "C1", 2), (2, "C6", 133)] {
        let state = format!("sys/devices/system/cpu/cpu0/cpuidle/state{number}");
        file(tree, &format!("{state}/name"), &format!("{name}\n"));
        file(tree, &format!("{state}/latency"), &format!("{latency}\n"));
        file(tree, &format!("{state}/disable"), "0\n");
    }
}

fn c6_is_off(tree: &Path) -> bool {
    let file = tree.join("sys/devices/system/cpu/cpu0/cpuidle/state2/disable");
    fs::read_to_string(file).expect("there").trim() == "1"
}

/// Returns the number of threads with which the command keeps cores busy.
fn spinning(pid: u32) -> usize {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let names = tasks
        .into_iter()
        .flatten()
        .flatten()
        .map(|task| fs::read_to_string(task.path().join("comm")).unwrap_or_default());
    names.filter(|name| name.trim() == "joulio-watts").count()
}

/// Shows the command's activity at a wall meter: 50 W, 6 W while a core is awake, 4 W for each spinning core, and 5 W
/// for each of two in C1. Returns whether C6 was switched off, and the command's output.
fn shown_at_the_wall(mut child: Child, tree: &TempDir) -> (bool, Output) {
    let mut limited = false;
    while child.try_wait().expect("wait").is_none() {
        let (cores, off) = (spinning(child.id()), c6_is_off(tree.path()));
        limited |= off;
        let awake = if cores > 0 || off { 6 } else { 0 };
        let watts = 50 + awake + 4 * cores + if off { 10 } else { 0 };
        let micro = format!("{}\n", watts * 1_000_000);
        file(tree, "sys/class/hwmon/hwmon0/power1_average", &micro);
        sleep(Duration::from_millis(2));
    }
    (limited, child.wait_with_output().expect("it ended"))
}

#[test]
fn watts_of_cores_that_spin_and_idle_go_into_the_profile() {
    if !thorough() {
        return;
    }
    let (tree, room) = (server(), tempdir().expect("a temporary directory"));
    file(
        &tree,
        "sys/class/hwmon/hwmon0/power1_average_interval",
        "100\n",
    );
    idle_states(&tree);
    let line = line(
        &tree,
        &format!("{SHORT} --meter wall --states C1 --write-profile here.toml --output json"),
    );
    let child = program()
        .args(line.split_whitespace())
        .current_dir(&room)
        .env("XDG_STATE_HOME", room.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it begins");
    let (limited, output) = shown_at_the_wall(child, &tree);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let watts = &report["watts"];
    assert_eq!(watts["meter"], "hwmon:power_meter/power1");
    assert_eq!(watts["kernel"], "6.12.1");
    let spin = &watts["states"][0];
    assert_eq!(spin["name"], "spin");
    let above = |state: &Value| state["above_idle"]["value"].as_f64().expect("watts");
    // The meter follows the command as soon as its thread has a CPU; the library's tests check the exact values.
    assert!((1.0..8.0).contains(&above(spin)), "{watts:#}");
    assert_eq!(watts["states"][1]["name"], "C1");
    // The idle state was limited for the measurement, and the limit was restored.
    assert!(limited && !c6_is_off(tree.path()), "{watts:#}");
    let journal = fs::read_dir(room.path().join("joulio/journal"));
    assert_eq!(journal.into_iter().flatten().count(), 0);
    let text = fs::read_to_string(room.path().join("here.toml")).expect("written");
    let line = |begin: &str| {
        text.lines()
            .find(|line| line.starts_with(begin))
            .unwrap_or_default()
    };
    for (begin, holds) in [
        ("base_watts", "kind = \"measured\""),
        ("spin", "kind = \"measured\""),
        ("spin", "by hwmon:power_meter/power1"),
        ("spin", "Linux 6.12.1, microcode unknown"),
        ("kernel = { value", "as generic-server (not measured)"),
        ("timer_joules", "(not measured)"),
    ] {
        assert!(line(begin).contains(holds), "{begin}: {holds}: {text}");
    }
    // The profile can be simulated.
    let run = "bench --twin --machine here.toml --number_ios 100 --completion poll --output json";
    joulio(run).current_dir(&room).assert().success();
}
