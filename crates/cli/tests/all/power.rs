//! `joulio power` on file trees of simulated machines.

use crate::common::machine::{guest, server};
use crate::common::{begin, interrupt, joulio, json, refused, wait_for};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Child;
use tempfile::{TempDir, tempdir};

fn line(tree: &TempDir, more: &str) -> String {
    format!("power --root {} {more}", tree.path().display())
}

fn report(tree: &TempDir, more: &str) -> Value {
    json(&line(tree, &format!("--output json {more}")))
}

fn row<'a>(report: &'a Value, name: &str) -> &'a Value {
    let rows = report["meters"].as_array().expect("meters");
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {report:#}"))
}

fn output(line: &str) -> String {
    let assert = joulio(line).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).expect("UTF-8")
}

#[test]
fn this_machine_has_a_line_for_every_source() {
    let report = json("power --output json");
    let rows = report["meters"].as_array().expect("meters");
    for source in ["perf", "powercap", "hwmon", "ipmi", "nvme", "logger"] {
        let mut of_source = rows.iter().filter(|row| row["source"] == source);
        assert!(of_source.next().is_some(), "{source}: {report:#}");
    }
    for row in rows {
        let reported =
            row["watts"].is_number() || row["why"].as_str().is_some_and(|why| why.len() > 5);
        assert!(reported, "{row:#}");
    }
}

#[test]
fn a_machine_without_meters_shows_where_they_would_be() {
    let tree = guest();
    let report = report(&tree, "");
    for name in ["perf", "powercap", "hwmon", "ipmi:dcmi", "nvme", "logger"] {
        let row = row(&report, name);
        assert_eq!(row["state"], "absent");
        assert_eq!(row["watts"], Value::Null);
    }
    let table = output(&line(&tree, ""));
    assert!(
        table.contains("hwmon: absent: no /sys/class/hwmon/hwmon*\n"),
        "{table}"
    );
}

#[test]
fn a_readable_meter_shows_its_watts_and_what_they_are_worth() {
    let report = report(&server(), "");
    let wall = row(&report, "hwmon:power_meter/power1");
    assert_eq!(
        (&wall["state"], &wall["boundary"]),
        (&"readable".into(), &"wall".into())
    );
    assert!((wall["watts"].as_f64().expect("watts") - 250.0).abs() < 1e-6);
    assert!(wall["window_seconds"].as_f64().expect("seconds") >= 1.0);
    assert_eq!(wall["modelled"], false);
    let package = row(&report, "powercap:package-0");
    assert_eq!(
        (&package["watts"], &package["zone"]),
        (&0.0.into(), &"package-0".into())
    );
    let error = package["error_joules"].as_f64().expect("an error");
    assert!((error - 2.0 * 61.035e-6).abs() < 1e-6, "{error}");
    assert!(
        report["energy_filtering"]
            .as_str()
            .expect("printed")
            .starts_with("unknown: no /dev/cpu/0/msr")
    );
}

#[test]
fn the_table_says_what_would_bring_a_meter() {
    let table = output(&line(&server(), ""));
    assert!(table.contains("  try: sudo modprobe rapl\n"), "{table}");
    assert!(table.contains("energy filtering: unknown"), "{table}");
    let wall = table
        .lines()
        .find(|line| line.contains("power_meter/power1 "));
    let cells: Vec<_> = wall.expect("a line").split_whitespace().collect();
    assert_eq!(cells[1..5], ["wall", "hwmon", "readable", "250.000"]);
}

#[test]
fn only_chosen_meters_are_read() {
    let report = report(&server(), "--meter wall");
    assert_eq!(row(&report, "powercap:package-0")["state"], "unused");
    assert_eq!(
        row(&report, "hwmon:power_meter/power1")["state"],
        "readable"
    );
}

#[test]
fn an_emulated_devices_power_is_modelled() {
    let report = report(&guest(), "--interval 2 --device emulated:optane-900p");
    let device = row(&report, "nvme:emulated:optane-900p");
    assert_eq!(
        (&device["modelled"], &device["boundary"]),
        (&true.into(), &"device".into())
    );
    assert!(device["watts"].as_f64().expect("watts") > 0.0);
    let table = output(&line(
        &guest(),
        "--interval 2 --device emulated:optane-900p",
    ));
    let row = table
        .lines()
        .find(|line| line.contains("nvme:emulated"))
        .expect("a line");
    assert!(
        row.contains(" modelled ") && !row.contains("readable"),
        "{row}"
    );
}

#[test]
fn watching_prints_an_object_a_line() {
    let text = output(&line(&server(), "--watch --count 2 --output json"));
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert_eq!(row(line, "hwmon:power_meter/power1")["state"], "readable");
    }
    assert!(lines[0]["unix_seconds"].as_f64() < lines[1]["unix_seconds"].as_f64());
}

#[test]
fn watching_commands_no_terminal_where_there_is_none() {
    let text = output(&line(&server(), "--watch --count 2"));
    assert!(!text.contains('\x1b'), "{text:?}");
    assert_eq!(text.matches(" 250.000 ").count(), 2, "{text}");
}

#[test]
fn the_idle_machine_is_kept_in_a_file() {
    let (tree, room) = (server(), tempdir().expect("a temporary directory"));
    let path = room.path().join("new/baseline.json");
    let idle = line(&tree, &format!("--idle 1s --file {}", path.display()));
    let said = output(&idle);
    assert!(
        said.contains(&format!("kept in {}", path.display())),
        "{said}"
    );
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(&path).expect("kept")).expect("JSON");
    assert_eq!(kept["version"], 1);
    assert_eq!(kept["host"]["kernel"], "6.12.1");
    assert!(
        !kept.to_string().contains("3d1219c7"),
        "the machine's id: {kept:#}"
    );
    let wall = kept["meters"]
        .as_array()
        .expect("meters")
        .iter()
        .find(|m| m["boundary"] == "wall");
    assert!((wall.expect("the wall")["watts"].as_f64().expect("watts") - 250.0).abs() < 1e-6);
    // A second measurement replaces the file and leaves no other.
    output(&idle);
    assert_eq!(
        fs::read_dir(room.path().join("new"))
            .expect("there")
            .count(),
        1
    );
}

#[test]
fn the_idle_machine_is_kept_where_state_is() {
    let (tree, room) = (server(), tempdir().expect("a temporary directory"));
    let mut command = joulio(&line(&tree, "--idle 1s --output json"));
    command
        .env("XDG_STATE_HOME", room.path())
        .assert()
        .success();
    assert!(room.path().join("joulio/idle-baseline.json").is_file());
}

#[test]
fn what_cannot_be_done_is_refused() {
    let (tree, bare) = (server(), guest());
    fs::remove_file(tree.path().join("etc/machine-id")).expect("removed");
    let room = tempdir().expect("a temporary directory");
    let cases = [
        (line(&tree, "--interval 900ms"), "at least 1 s"),
        (line(&tree, "--idle 0"), "at least 1 s"),
        (line(&tree, "--meter pakage"), "package"),
        (
            line(&tree, "--meter powercap:package-7"),
            "there is no powercap:package-7",
        ),
        (line(&tree, "--meter redfish"), "redfish=https://"),
        (
            line(&tree, "--meter redfish=http://bmc/redfish/v1/x"),
            "use https",
        ),
        (line(&tree, "--idle 1 --file b.json"), "machine-id"),
        (line(&bare, "--watch"), "no meter can be read"),
        (
            line(&bare, "--idle 1 --file b.json"),
            "no meter can be read",
        ),
        (line(&tree, "--watch --idle 1"), "--idle"),
        (line(&tree, "--count 2"), "--watch"),
        (line(&tree, "--file b.json"), "--idle"),
        ("power --root /nowhere".into(), "/nowhere is not a folder"),
        (line(&tree, "--device emulated:nothing"), "nothing"),
    ];
    for (line, expected) in cases {
        let said = refused(room.path(), &line);
        assert!(said.contains(expected), "{line}: {said}");
    }
}

#[test]
fn a_password_on_the_command_line_is_refused_and_not_repeated() {
    let room = tempdir().expect("a temporary directory");
    let said = refused(
        room.path(),
        "power --meter redfish=https://root:calvin@bmc/redfish/v1/x",
    );
    assert!(said.contains("netrc") && !said.contains("calvin"), "{said}");
}

/// Starts `joulio` with the arguments in `line`, and interrupts it when it has `begun`.
fn interrupted(line: &str, begun: impl Fn(u32) -> bool) -> Child {
    let child = begin(line);
    wait_for("beginning", || begun(child.id()).then_some(()));
    interrupt(&child);
    child
}

/// Returns true if the thread that reads meters exists: the window is open, and signals are handled.
fn reading(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    tasks.flatten().any(|task| {
        let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        name.starts_with("joulio-meters")
    })
}

#[test]
fn watching_ends_by_a_signal_and_well() {
    let child = interrupted(&line(&server(), "--watch --interval 100"), reading);
    let output = child.wait_with_output().expect("it ends");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
}

#[test]
fn an_idle_time_that_was_cut_is_not_kept() {
    let (tree, room) = (server(), tempdir().expect("a temporary directory"));
    let path = room.path().join("b.json");
    let idle = format!("--idle 100 --file {}", path.display());
    let output = interrupted(&line(&tree, &idle), reading)
        .wait_with_output()
        .expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing is kept"));
    assert!(!Path::new(&path).exists());
}
