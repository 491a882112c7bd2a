//! Functions that run the command.
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

/// Returns the command with the arguments in `line`.
pub fn joulio(line: &str) -> Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("joulio");
    command.args(line.split_whitespace());
    // The terminal in which the tests run may be narrow.
    command.env_remove("COLUMNS");
    command
}

/// Returns true in the complete gate, or if the environment requests it: tests then measure for longer, or more often.
pub fn thorough() -> bool {
    std::env::var_os("JOULIO_THOROUGH").is_some()
}

/// Returns `all` in the complete gate, and `few` in short tests.
pub fn thorough_or(all: u64, few: u64) -> u64 {
    if thorough() { all } else { few }
}

/// Returns flags for a run whose ramp does not matter: in short tests it has none.
pub fn short_ramp() -> &'static str {
    if thorough() { "" } else { "--ramp_time 0" }
}

/// Returns the command, with default actions for signals: the process that runs the tests may ignore some, as with
/// nohup(1).
pub fn program() -> std::process::Command {
    let mut command = std::process::Command::new("env");
    command
        .args(["--default-signal=HUP,INT,QUIT,TERM", "--unset=COLUMNS"])
        .arg(assert_cmd::cargo::cargo_bin!("joulio"));
    command
}

/// Starts the command with the arguments in `line`.
pub fn begin(line: &str) -> Child {
    program()
        .args(line.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it begins")
}

/// Returns the end of the command with the arguments in `line` in `room`; nobody reads its standard output.
pub fn unread(room: &Path, line: &str) -> Output {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    program()
        .args(line.split_whitespace())
        .current_dir(room)
        .stdout(writer)
        .output()
        .expect("it begins")
}

/// Waits until `found` returns a value. The test fails after two minutes, for example because the command has ended
/// before.
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

/// Waits until `child` has ended by itself. After ten minutes it is killed, and the test fails.
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

/// Waits until the command has ended by itself, and returns its output.
pub fn ended(mut child: Child) -> Output {
    wait_for_end(&mut child);
    child.wait_with_output().expect("output")
}

/// Returns what the successful command with the arguments in `line` prints in `room`.
pub fn stdout(room: &Path, line: &str) -> String {
    let assert = joulio(line).current_dir(room).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// Returns what `command`, a `joulio lab run`, prints if it did its runs. If other programs used the CPUs, all runs may
/// be kept apart, which makes the command fail.
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

/// Starts the command with the arguments in `line` in `room` five times, and kills it when it has written one more line
/// to `file` than the time before.
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
        // The header is a line too. On a busy machine more lines may be written, and the command may end before it is
        // killed.
        wait_for("record", || {
            (lines() > kill || child.try_wait().unwrap().is_some()).then_some(())
        });
        let _ = child.kill();
        child.wait().expect("killed");
        assert!(lines() > kill);
    }
}

/// Sends SIGINT.
pub fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("sent");
}

/// Returns the JSON that a successful command prints.
pub fn json(line: &str) -> Value {
    let output = joulio(line).assert().success().get_output().stdout.clone();
    serde_json::from_slice(&output).expect("standard output is JSON")
}

/// Returns the runs of a successful `joulio bench` with the flags in `line`.
pub fn runs(line: &str) -> Vec<Value> {
    let report = json(&format!("bench --output json {line}"));
    report["runs"].as_array().expect("runs").clone()
}

/// Asserts that `line` is refused, with a message that contains all of `hints`.
#[track_caller]
pub fn refused_with(line: &str, hints: &[&str]) {
    let room = tempfile::tempdir().expect("a temporary directory");
    let said = refused(room.path(), line);
    for hint in hints {
        assert!(said.contains(hint), "{line}: no '{hint}' in: {said}");
    }
}

/// Runs a command in `room` that has to be refused, and returns its message: status 2, one line, nothing on standard
/// output, nothing in `room` created or changed.
pub fn refused(room: &Path, line: &str) -> String {
    let before = contents(room);
    let said = failed(room, line, 2);
    assert_eq!(contents(room), before, "{line}: changed something");
    said
}

/// Runs a command in `room` that has to end with `status` and one line on standard error; returns the line.
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
