//! Running the command.
#![allow(dead_code, reason = "each test file uses some of it")]

pub mod busy;
pub mod loop_device;
pub mod machine;
pub mod running;
pub mod server;
pub mod settings;

use assert_cmd::Command;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The command with the words of `line`.
pub fn joulio(line: &str) -> Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("joulio");
    command.args(line.split_whitespace());
    // Whoever runs the tests may have a narrow terminal.
    command.env_remove("COLUMNS");
    command
}

/// True in the whole gate, and where it is asked for: tests that measure for long, or often.
pub fn thorough() -> bool {
    std::env::var_os("JOULIO_THOROUGH").is_some()
}

/// `all` in the whole gate, `few` where tests are to be short.
pub fn thorough_or(all: u64, few: u64) -> u64 {
    if thorough() { all } else { few }
}

/// Flags of a run whose ramp nobody asks after: without one, unless all is to be tested.
pub fn short_ramp() -> &'static str {
    if thorough() { "" } else { "--ramp_time 0" }
}

/// The command, to be begun: with the default action for signals that whoever runs the tests may
/// ignore, as nohup(1) does.
pub fn program() -> std::process::Command {
    let mut command = std::process::Command::new("env");
    command
        .args(["--default-signal=HUP,INT,QUIT,TERM", "--unset=COLUMNS"])
        .arg(assert_cmd::cargo::cargo_bin!("joulio"));
    command
}

/// The command with the words of `line`, begun.
pub fn begin(line: &str) -> Child {
    program()
        .args(line.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it begins")
}

/// What `found` finds, as soon as it does. The test fails when that takes two minutes, which a
/// command that has ended before would make it wait for.
pub fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(started.elapsed() < CAP, "no {what} after {CAP:?}");
        sleep(Duration::from_millis(5));
    }
}

const CAP: Duration = Duration::from_secs(600);

/// Waits until `child` has ended by itself. What hangs is ended after ten minutes, and the test with
/// it.
pub fn wait_for_end(child: &mut Child) {
    let started = Instant::now();
    while child.try_wait().expect("wait").is_none() {
        if started.elapsed() > CAP {
            let _ = child.kill();
            panic!("still running after {CAP:?}");
        }
        sleep(Duration::from_millis(10));
    }
}

/// What the command leaves behind, when it ends by itself.
pub fn ended(mut child: Child) -> Output {
    wait_for_end(&mut child);
    child.wait_with_output().expect("output")
}

/// What the command with the words of `line` prints in `room`, when it succeeds.
pub fn stdout(room: &Path, line: &str) -> String {
    let assert = joulio(line).current_dir(room).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// What `command`, a `joulio lab run`, prints when it does its runs. Where others have the CPUs, all of them may be kept
/// apart, which is no success of the command's.
pub fn lab_ran(command: &mut Command) -> String {
    let output = command.output().expect("it begins");
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or_default();
        let apart = last.starts_with("joulio: every run with figures is kept apart");
        assert!(output.status.code() == Some(1) && apart, "{said}");
    }
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Begins the command with the words of `line` in `room` five times, and kills it when it has written one
/// more line after the first to `file` than the time before.
pub fn killed_five_times(room: &Path, line: &str, file: &Path) {
    let lines = || fs::read(file).map_or(0, |text| text.iter().filter(|b| **b == b'\n').count());
    for kill in 1..=5 {
        let mut child = program()
            .args(line.split_whitespace())
            .current_dir(room)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it begins");
        // The header is a line too. A machine that is busy lets more of them be written: then there
        // is nothing left to kill.
        wait_for("record", || {
            (lines() > kill || child.try_wait().unwrap().is_some()).then_some(())
        });
        let _ = child.kill();
        child.wait().expect("killed");
        assert!(lines() > kill);
    }
}

/// SIGINT.
pub fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("sent");
}

/// The JSON that a successful command prints.
pub fn json(line: &str) -> Value {
    let output = joulio(line).assert().success().get_output().stdout.clone();
    serde_json::from_slice(&output).expect("standard output is JSON")
}

/// The runs of a successful `joulio bench` with the flags of `line`.
pub fn runs(line: &str) -> Vec<Value> {
    let report = json(&format!("bench --output json {line}"));
    report["runs"].as_array().expect("runs").clone()
}

/// `line` is refused, in words that hold every one of `hints`.
#[track_caller]
pub fn refused_with(line: &str, hints: &[&str]) {
    let room = tempfile::tempdir().expect("a temporary directory");
    let said = refused(room.path(), line);
    for hint in hints {
        assert!(said.contains(hint), "{line}: no '{hint}' in: {said}");
    }
}

/// Runs a command in `room` that is to be refused, and returns what it says: status 2, one line,
/// nothing on standard output, nothing in `room` created or changed.
pub fn refused(room: &Path, line: &str) -> String {
    let before = contents(room);
    let said = failed(room, line, 2);
    assert_eq!(contents(room), before, "{line}: changed something");
    said
}

/// Runs a command in `room` that is to end with `status` and one line on standard error.
pub fn failed(room: &Path, line: &str, status: i32) -> String {
    let assert = joulio(line).current_dir(room).assert();
    let output = assert.get_output();
    let said = String::from_utf8(output.stderr.clone()).expect("UTF-8");
    assert_eq!(output.status.code(), Some(status), "{line}: {said}");
    assert_eq!(said.lines().count(), 1, "{line}: {said}");
    assert!(said.starts_with("joulio: "), "{line}: {said}");
    assert!(
        status != 2 || output.stdout.is_empty(),
        "{line}: refused, but wrote to standard output"
    );
    said
}

pub fn contents(room: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    fs::read_dir(room)
        .expect("the room is there")
        .map(|entry| entry.expect("entry").path())
        .map(|path| (path.clone(), fs::read(path).ok()))
        .collect()
}
