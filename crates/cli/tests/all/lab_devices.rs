//! `joulio lab run` and its devices: one that vanishes during a run, and the survey beside the runs.

use crate::common::loop_device::Loop;
use crate::common::running::wait_for_work;
use crate::common::server::Server;
use crate::common::{ended, joulio, lab_ran, unread, wait_for};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

const TWO: &str = r#"
name = "two"
title = "Two devices"
[run]
number_ios = 100
ramp_time = "0"
meter = "none"
[[sweep]]
name = "short"
rw = "randread"
bs = "4k"
engine = "nvme"
completion = "interrupt"
"#;

fn records(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("records.jsonl")).unwrap_or_default();
    let lines = text.lines().skip(1);
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[test]
fn a_device_that_vanishes_at_work_fails_its_run_and_the_rest_goes_on() {
    let room = TempDir::new().unwrap();
    // Runs take longer than a test on the first device, and are short on the second.
    let long = TWO.replace("number_ios = 100", "runtime = \"600s\"");
    fs::write(room.path().join("two.toml"), TWO).unwrap();
    fs::write(room.path().join("long.toml"), long).unwrap();
    let first = Server::start(room.path(), "a", "16m", &[]);
    let child = crate::common::program()
        .args([
            "lab",
            "run",
            "long.toml",
            "--device",
            "vfio-user:a",
            "--results",
            "long",
        ])
        .current_dir(&room)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    wait_for_work(child.id());
    first.kill();
    let output = ended(child);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("1 run(s) failed"), "{said}");
    let failed = records(&room.path().join("long"));
    assert!(failed[0]["result"]["failure"].is_string(), "{failed:?}");

    // The runs of the killed server fail, and the other's are done; when it is back, its runs are done too.
    let _ = fs::remove_file(room.path().join("a"));
    let _second = Server::start(room.path(), "b", "16m", &[]);
    let line = "lab run two.toml --device vfio-user:a+vfio-user:b --results out";
    let assert = joulio(line).current_dir(&room).assert().code(1);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("1 run(s) failed"), "{said}");
    let done = |folder: &str| {
        let all = records(&room.path().join(folder)).into_iter();
        all.filter(|one| one["result"]["all"]["ios"] == 100).count()
    };
    assert_eq!(done("out"), 1);
    let _first = Server::start(room.path(), "a", "16m", &[]);
    lab_ran(joulio(line).current_dir(&room));
    assert_eq!(done("out"), 2);
}

#[test]
fn a_loop_device_that_is_taken_away_at_work_fails_its_run_and_the_rest_goes_on() {
    let (Some(first), Some(second)) = (Loop::new(), Loop::new()) else {
        return;
    };
    let room = TempDir::new().unwrap();
    // First many reads on both devices, where failing ones are fast, then few reads on both.
    let text = TWO.replace("engine = \"nvme\"", "engine = \"io_uring\"");
    let (head, sweep) = text.split_once("[[sweep]]").unwrap();
    let long = sweep.replace("\"short\"", "\"long\"") + "run = { number_ios = \"500k\" }\n";
    let text = format!("{head}[[sweep]]{long}[[sweep]]{sweep}");
    fs::write(room.path().join("two.toml"), text).unwrap();
    let devices = format!("{}+{}", first.device, second.device);
    let child = crate::common::program()
        .args([
            "lab",
            "run",
            "two.toml",
            "--device",
            &devices,
            "--results",
            "out",
        ])
        .current_dir(&room)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let out = room.path().join("out");
    let failed = |count: usize| {
        wait_for("a run that failed", || {
            let failed = records(&out).into_iter();
            let failed = failed.filter(|one| one["result"]["failure"].is_string());
            (failed.count() == count).then_some(())
        });
    };
    wait_for_work(child.id());
    first.take_away();
    failed(1);
    // The first device is present again for its next run; the second is not.
    first.give_back();
    wait_for_work(child.id());
    second.take_away();
    let output = ended(child);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("3 run(s) failed") && said.contains("I/O(s) failed"),
        "{said}"
    );
    failed(3);
    let done: Vec<_> = records(&out)
        .into_iter()
        .filter(|one| one["result"]["failure"].is_null())
        .collect();
    assert_eq!(done.len(), 1, "{done:?}");
    assert_eq!(done[0]["sweep"], "short");
    assert_eq!(done[0]["point"]["device"], first.device.as_str());
    assert_eq!(done[0]["result"]["all"]["ios"], 100);
}

/// A run with a survey, of the file in [`with_survey`].
const SURVEY: &str =
    "lab run two.toml --quick --device emulated:optane-900p,size=16m --meter none --results out";

/// Returns a folder with an experiment that has a survey.
fn with_survey() -> TempDir {
    let room = TempDir::new().unwrap();
    let text = TWO
        .replace("title =", "survey = true\ntitle =")
        .replace("meter = \"none\"\n", "")
        .replace("[run]", "[run]\nreplicates = 2");
    fs::write(room.path().join("two.toml"), text).unwrap();
    room
}

#[test]
fn the_file_of_a_survey_is_written_also_if_nobody_reads_the_summary() {
    let room = with_survey();
    let output = unread(room.path(), SURVEY);
    let said = String::from_utf8_lossy(&output.stderr);
    // If other programs used the CPUs, every run is kept apart.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    let whole = room.path().join("out/two.results.jsonl");
    assert!(whole.exists(), "{said}");
}

#[test]
fn a_survey_stands_beside_the_runs_in_one_file() {
    let room = with_survey();
    let said = lab_ran(joulio(SURVEY).current_dir(&room));
    // If other programs used the CPUs, every run is kept apart, and there is nothing to compare.
    let told = [
        "the profiles of emulated:optane-900p",
        "Not compared with a profile",
    ];
    assert!(told.iter().any(|words| said.contains(words)), "{said}");
    let whole = room.path().join("out/two.results.jsonl");
    let text = fs::read_to_string(&whole).unwrap();
    let sessions = text.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line.get("session").cloned()
    });
    let surveys: Vec<_> = sessions
        .filter_map(|one| one.get("survey").cloned())
        .collect();
    let parts = surveys[0]["parts"].as_array().unwrap();
    let part = |name: &str| parts.iter().find(|part| part["part"] == name).unwrap();
    assert_eq!(
        part("identify")["found"]["mn"],
        "joulio emulated Optane 900P"
    );
    let states = part("power states")["found"]["states"].as_array().unwrap();
    assert!(!states.is_empty());
    for name in [
        "interrupts",
        "selftest tpause",
        "selftest umwait",
        "selftest uintr",
        "watts",
    ] {
        let part = part(name);
        // Each part has either results or a reason.
        assert!(
            part["found"].is_null() != part["missing"].is_null(),
            "{part}"
        );
    }
    // The single file can be used like the folder, and compared with virtual time. Disturbances of the runs are removed
    // for this test.
    let clean = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if line["result"]["spoiled"].is_array() {
            line["result"]["spoiled"] = Value::Array(Vec::new());
        }
        format!("{line}\n")
    });
    fs::write(room.path().join("clean.jsonl"), clean.collect::<String>()).unwrap();
    let stdout = |line: &str| {
        let assert = joulio(line).current_dir(&room).assert().success();
        String::from_utf8_lossy(&assert.get_output().stdout).into_owned()
    };
    let same = stdout("lab compare clean.jsonl clean.jsonl");
    assert!(same.contains("0 of "), "{same}");
    stdout("lab run two.toml --twin --device emulated:optane-900p --results model");
    let beside = stdout("lab compare clean.jsonl model --model --all");
    assert!(beside.contains("latency_us"), "{beside}");
    stdout("lab report clean.jsonl -o shown");
    assert!(room.path().join("shown/report.html").exists());
}
