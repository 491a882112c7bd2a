//! `joulio power swap`, `marker` and `import`: saved files, results, and refused requests.

use crate::common::{failed, joulio, json, refused};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use tempfile::{TempDir, tempdir};

/// 2022-08-08 23:06:40 UTC, on the machine's clock.
const START: u64 = 1_660_000_000;
/// Seconds by which the logger's clock is ahead.
const AHEAD: u64 = 37;

fn room() -> TempDir {
    tempdir().expect("a temporary directory")
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("the file is there");
    serde_json::from_str(&text).expect("JSON")
}

fn marker(start: u64) -> Value {
    let edges = (0..6_u64).map(|at| {
        let time = (start + 5 * at) * 1_000_000_000;
        json!({"unix_ns": START * 1_000_000_000 + time, "monotonic_ns": time, "rising": at % 2 == 0})
    });
    json!({"edges": edges.collect::<Vec<_>>()})
}

/// Returns a state with two windows, at 100 and 300 s, between markers at 0 and 500 s.
fn state() -> Value {
    let window = |name: &str, start: u64| {
        let at = |time: u64| (START + time) * 1_000_000_000;
        json!({"name": name, "start_unix_ns": at(start), "end_unix_ns": at(start + 100)})
    };
    json!({
        "version": 1,
        "windows": [window("no device", 100), window("hdd", 300)],
        "markers": [marker(0), marker(500)],
    })
}

/// Returns what the logger recorded meanwhile: 90 W, 95.5 W with the disk, and 40 W more while cores spin.
fn export() -> String {
    let mut text = "\"Plot Title: swap\"\r\n\"#\",\"Date Time, GMT-04:00\",\
        \"Active Power, W (LGR S/N: 10123456, SEN S/N: 10123456)\",\
        \"End Of File (LGR S/N: 10123456)\"\r\n"
        .to_string();
    for second in 0..700_u64 {
        let host = second as i64 - 60;
        let spins = [0, 500].iter().any(|start| {
            let since = host - start;
            (0..30).contains(&since) && since % 10 < 5
        });
        let disk = (290..410).contains(&host);
        let watts = 90.0 + f64::from(u8::from(spins)) * 40.0 + f64::from(u8::from(disk)) * 5.5;
        // START is 19:06:40 at GMT-04:00.
        let at = 19 * 3600 + 6 * 60 + 40 - 60 + AHEAD + second;
        let (hour, minute) = (at / 3600, at / 60 % 60);
        text += &format!(
            "{second},08/08/2022 {hour:02}:{minute:02}:{:02},{watts:.2},\r\n",
            at % 60
        );
    }
    text
}

fn written(room: &Path) {
    fs::write(room.join("state.json"), state().to_string()).expect("written");
    fs::write(room.join("log.csv"), export()).expect("written");
}

#[test]
fn windows_get_their_watts_from_a_logger_whose_clock_is_off() {
    let room = room();
    written(room.path());
    let path = room.path().display();
    let line = format!(
        "power import {path}/log.csv --windows {path}/state.json --date-order mdy --output json"
    );
    let report = json(&line);
    assert_eq!(report["log"]["samples"], 700);
    assert_eq!(report["log"]["serials"], json!(["10123456"]));
    let alignment = &report["alignment"];
    let offset = alignment["offset_seconds"].as_f64().expect("a number");
    assert!((offset - AHEAD as f64).abs() < 0.51, "{alignment}");
    for field in [
        "drift_ppm",
        "drift_error_ppm",
        "residual_seconds",
        "correlation",
    ] {
        assert!(alignment[field].is_f64(), "{alignment}");
    }
    let windows = report["windows"].as_array().expect("windows");
    assert_eq!(
        (windows.len(), windows[1]["device"].as_str()),
        (2, Some("hdd"))
    );
    assert_eq!(windows[1]["boundary"], "wall");
    for (window, (watts, above)) in windows.iter().zip([(90.0, 0.0), (95.5, 5.5)]) {
        let number = |field: &str| window[field].as_f64().expect("a number");
        assert!((number("power_watts") - watts).abs() < 1e-9, "{window}");
        assert!(
            (number("above_no_device_watts") - above).abs() < 1e-9,
            "{window}"
        );
        assert!((number("seconds") - 96.0).abs() < 0.1, "{window}");
    }
}

#[test]
fn people_get_the_same() {
    let room = room();
    written(room.path());
    let line = "power import log.csv --windows state.json --date-order mdy";
    let output = joulio(line).current_dir(room.path()).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8");
    for part in [
        "logger 10123456",
        "700 samples",
        "drift",
        "2 markers",
        "95.500",
        "5.500",
    ] {
        assert!(text.contains(part), "no '{part}' in:\n{text}");
    }
}

/// Returns the parts of a bench's report that matter for a logger: two runs at the times of the two windows.
fn bench() -> Value {
    let run = |completion: &str, start: u64| {
        let at = |time: u64| json!({"unix_seconds": (START + time) as f64, "monotonic_seconds": time as f64});
        json!({
            "point": {"completion": completion, "iodepth": "1"}, "replicate": 1, "modelled": false,
            "begin": at(start), "end": at(start + 100), "all": {"ios": 1_000_000},
        })
    };
    let unavailable = json!({
        "point": {"completion": "tpause", "iodepth": "1"}, "replicate": 1, "modelled": false,
        "begin": null, "end": null,
    });
    json!({"version": 1, "runs": [run("poll", 100), run("interrupt", 300), unavailable]})
}

#[test]
fn a_benchs_runs_get_their_joules_by_markers_of_another_file() {
    let room = room();
    written(room.path());
    let mut markers = state();
    markers["windows"] = json!([]);
    fs::write(room.path().join("markers.json"), markers.to_string()).expect("written");
    fs::write(room.path().join("result.json"), bench().to_string()).expect("written");
    let line = "power import log.csv --date-order mdy --windows result.json";
    let said = refused(room.path(), line);
    assert!(said.contains("no marker"), "{said}");
    let line = format!("{line} --windows markers.json");
    let output = joulio(&line).current_dir(room.path()).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8");
    assert!(
        text.contains("completion poll") && text.contains("9000.0"),
        "{text}"
    );
    let line = format!("{line} --output json");
    let output = joulio(&line).current_dir(room.path()).assert().success();
    let report: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    let runs = report["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2);
    for (run, (name, watts)) in runs
        .iter()
        .zip([("completion poll", 90.0), ("completion interrupt", 95.5)])
    {
        assert_eq!(run["run"], name);
        assert_eq!(run["boundary"], "wall");
        let number = |field: &str| run[field].as_f64().expect("a number");
        assert!((number("power_watts") - watts).abs() < 1e-9, "{run}");
        // A million I/Os in 100 s.
        assert!(
            (number("joules_per_io") - watts * 1e-4).abs() < 1e-9,
            "{run}"
        );
    }
    // Idle time after fixed work is part of the joules, as in bench's own figures.
    let mut windowed = bench();
    windowed["runs"][0]["end"]["unix_seconds"] = json!((START + 160) as f64);
    windowed["runs"][0]["window"] = json!({
        "requested_seconds": 100.0, "seconds": 100.0, "idle_seconds": 40.0, "fits": true,
    });
    // A run whose clock was changed cannot be placed in the log.
    windowed["runs"][1]["spoiled"] = json!([
        {"by": "busy", "share": 0.1, "why": "others ran"},
        {"by": "clock-stepped", "share": null, "why": "the wall clock was set by +2.000 s"},
    ]);
    fs::write(room.path().join("result.json"), windowed.to_string()).expect("written");
    let output = joulio(&line).current_dir(room.path()).assert().code(1);
    let report: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    let runs = report["runs"].as_array().expect("runs");
    let joules = runs[0]["joules_per_io"].as_f64().expect("a number");
    assert!(
        runs.len() == 1 && (joules - 90.0 * 1e-4).abs() < 1e-9,
        "{report}"
    );
    assert_eq!(
        report["without_figure"],
        json!(["run 'completion interrupt': the wall clock was set by +2.000 s"])
    );
    // Another program's start and ramp are between its begin and end, but its I/Os are not from there.
    let mut program = bench();
    program["runs"][0]["seconds"] = json!(80.0);
    fs::write(room.path().join("result.json"), program.to_string()).expect("written");
    let output = joulio(&line).current_dir(room.path()).assert().success();
    let report: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    let joules = report["runs"][0]["joules_per_io"].as_f64();
    let joules = joules.expect("a number");
    assert!((joules - 90.0 * 80.0 / 1e6).abs() < 1e-9, "{report}");
    let mut modelled = bench();
    modelled["runs"][0]["modelled"] = json!(true);
    fs::write(room.path().join("result.json"), modelled.to_string()).expect("written");
    let said = refused(room.path(), &line);
    assert!(
        said.contains("result.json") && said.contains("virtual time"),
        "{said}"
    );
}

#[test]
fn a_window_that_the_log_does_not_show_is_reported() {
    let room = room();
    let mut state = state();
    state["windows"][1]["end_unix_ns"] = json!((START + 4000) * 1_000_000_000);
    fs::write(room.path().join("state.json"), state.to_string()).expect("written");
    fs::write(room.path().join("log.csv"), export()).expect("written");
    let line = "power import log.csv --windows state.json --date-order mdy";
    let said = failed(room.path(), line, 1);
    assert!(
        said.contains("window 'hdd'") && said.contains("does not cover"),
        "{said}"
    );
}

#[test]
fn an_import_that_would_be_a_guess_is_refused() {
    let room = room();
    written(room.path());
    let with = |line: &str, hints: &[&str]| {
        let said = refused(room.path(), line);
        for hint in hints {
            assert!(said.contains(hint), "{line}: no '{hint}' in: {said}");
        }
    };
    with(
        "power import log.csv",
        &["log.csv", "--date-order", "mdy or dmy"],
    );
    with("power import nothing.csv", &["nothing.csv"]);
    with("power import state.json", &["state.json", "header"]);
    with("power import log.csv --date-order ymd", &["line 3"]);
    let import = "power import log.csv --date-order mdy --windows";
    with(&format!("{import} nothing.json"), &["nothing.json"]);
    with(
        &format!("{import} log.csv"),
        &["not a file of joulio power swap"],
    );
    let without = json!({"version": 1, "windows": state()["windows"]});
    fs::write(room.path().join("without.json"), without.to_string()).expect("written");
    with(&format!("{import} without.json"), &["no marker"]);
    let other = json!({"version": 1, "markers": [marker(250)]});
    fs::write(room.path().join("other.json"), other.to_string()).expect("written");
    with(&format!("{import} other.json"), &["two places"]);
    let elsewhere = json!({"version": 1, "markers": [marker(90_000)]});
    fs::write(room.path().join("elsewhere.json"), elsewhere.to_string()).expect("written");
    with(
        &format!("{import} elsewhere.json"),
        &["marker 1 is not in the log"],
    );
}

#[test]
fn a_marker_is_printed_or_added_to_a_file() {
    let room = room();
    let line = "power marker --spin 1ms --idle 1ms --repeat 2";
    let printed = json(line);
    assert_eq!(
        printed["markers"][0]["edges"].as_array().map(Vec::len),
        Some(4)
    );
    for count in 1..=2 {
        let line = format!("{line} --file marks.json");
        joulio(&line).current_dir(room.path()).assert().success();
        let state = read(&room.path().join("marks.json"));
        assert_eq!(state["markers"].as_array().map(Vec::len), Some(count));
    }
    for flags in [
        "--spin 0",
        "--idle 2m",
        "--repeat 0",
        "--file no/such/place.json",
    ] {
        refused(room.path(), &format!("power marker {flags}"));
    }
}

const SWAP: &str = "power swap --meter none --time 1s --spin 1ms --idle 1ms";

#[test]
fn without_anybody_there_the_state_is_kept_and_goes_on() {
    let room = room();
    let swap = |more: &str, input: &str| {
        let mut command = joulio(&format!("{SWAP} {more}"));
        let assert = command
            .current_dir(room.path())
            .write_stdin(input)
            .assert()
            .success();
        String::from_utf8(assert.get_output().stderr.clone()).expect("UTF-8")
    };
    let said = swap("--devices none,ssd", "");
    assert!(
        said.contains("[1/2] Now: none") && said.contains("Stopped before 'none'"),
        "{said}"
    );
    let said = swap("--resume", "\n");
    assert!(
        said.contains("Stopped before 'ssd'") && said.contains("--resume"),
        "{said}"
    );
    let said = swap("--resume --devices none,ssd", "\n");
    assert!(said.contains("[2/2]") && !said.contains("[1/2]"), "{said}");
    assert!(
        said.contains("joulio power import FILE.csv --windows joulio-swap.json"),
        "{said}"
    );
    let state = read(&room.path().join("joulio-swap.json"));
    assert_eq!(state["windows"].as_array().map(Vec::len), Some(2));
    // No meter was read, so a logger's file will be needed.
    assert_eq!(state["markers"].as_array().map(Vec::len), Some(4));
    for window in state["windows"].as_array().expect("windows") {
        let at = |field: &str| window[field].as_u64().expect("a time");
        assert!(at("end_unix_ns") - at("start_unix_ns") >= 1_000_000_000);
    }
    assert!(swap("--resume", "").contains("All done"));
}

#[test]
fn a_signal_at_the_prompt_keeps_the_state() {
    let room = room();
    let mut child = crate::common::program()
        .args(SWAP.split(' ').chain(["--devices", "ssd"]))
        .current_dir(room.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut said = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.contains("Now: ssd") {
        line.clear();
        assert!(said.read_line(&mut line).expect("read") > 0, "it ended");
    }
    let pid = Pid::from_raw(child.id().try_into().expect("a process")).expect("not zero");
    kill_process(pid, Signal::INT).expect("sent");
    assert!(child.wait().expect("it ends").success());
    let state = read(&room.path().join("joulio-swap.json"));
    assert_eq!(state["plan"]["devices"], json!(["ssd"]));
    assert_eq!(state["windows"], json!([]));
}

#[test]
fn a_plan_that_cannot_be_followed_is_refused() {
    let room = room();
    let with = |flags: &str, hints: &[&str]| {
        let said = refused(room.path(), &format!("power swap {flags}"));
        for hint in hints {
            assert!(said.contains(hint), "{flags}: no '{hint}' in: {said}");
        }
    };
    with("", &["--devices"]);
    with("--devices a,b,a", &["'a'", "twice"]);
    with("--devices a,,b", &["--devices"]);
    with("--devices a --time 10ms", &["--time", "at least 1 s"]);
    with("--devices a --time soon", &["--time"]);
    with("--devices a --meter nothing-like-it", &["--meter"]);
    with("--devices a --spin 0", &["--spin"]);
    with("--resume", &["joulio-swap.json"]);
    let mine = room.path().join("joulio-swap.json");
    fs::write(&mine, "mine").expect("written");
    with("--devices a", &["joulio-swap.json", "--resume"]);
    with("--resume", &["not a file of joulio power swap"]);
    let plan = json!({"version": 1, "plan": {"devices": ["a"], "window_ns": 1, "markers": false}});
    fs::write(&mine, plan.to_string()).expect("written");
    with("--resume --devices b", &["another plan"]);
    with("--resume --time 5s", &["another plan"]);
    with("--resume --marker", &["another plan"]);
    fs::write(&mine, json!({"version": 1}).to_string()).expect("written");
    with("--resume", &["no plan"]);
}
