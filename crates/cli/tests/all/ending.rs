//! A run that is ended early reports this and its results so far; a closed pipe is not an error.

use crate::common::running::{wait_for_handler, wait_for_job, wait_for_work};
use crate::common::{begin, ended, unread};
use predicates::prelude::PredicateBooleanExt;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Output, Stdio};

fn interrupted(line: &str, signal: Signal) -> Output {
    let child = begin(line);
    wait_for_work(child.id());
    let pid = Pid::from_child(&child);
    kill_process(pid, signal).expect("kill");
    let output = ended(child);
    let said = String::from_utf8_lossy(&output.stderr);
    let status = 128 + signal.as_raw();
    assert_eq!(output.status.code(), Some(status), "{line}: {said}");
    assert_eq!(said.lines().count(), 1, "{line}: {said}");
    assert!(said.contains("cut short: nvme "), "{line}: {said}");
    output
}

const LONG: &str = "bench --device emulated:instant,size=1M --runtime 60";

#[test]
fn an_interrupted_run_prints_its_table_and_says_what_was_not_run() {
    for (signal, name) in [
        (Signal::INT, "SIGINT"),
        (Signal::TERM, "SIGTERM"),
        (Signal::HUP, "SIGHUP"),
        (Signal::QUIT, "SIGQUIT"),
    ] {
        let output = interrupted(LONG, signal);
        let said = String::from_utf8_lossy(&output.stderr);
        let says = "cut short: nvme poll; not run: nvme interrupt, nvme hybrid, nvme adaptive";
        assert_eq!(said, format!("joulio: ended by {name}; {says}\n"));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(text.contains("IOPS"), "{text}");
        assert!(text.contains("poll: ended early"), "{text}");
        assert!(
            !text.contains("interrupt: "),
            "went on with the next: {text}"
        );
    }
}

#[test]
fn an_interrupted_run_is_valid_json_that_says_so() {
    for flags in [
        "",
        "--completion interrupt --ramp_time 0",
        "--rw randrw --verify=crc32c",
    ] {
        let output = interrupted(&format!("{LONG} --output json {flags}"), Signal::INT);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let runs = report["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0]["interrupted"], true);
        assert!(report["manifest"]["not_run"].is_array());
        assert!(runs[0]["all"]["ios"].is_u64());
    }
}

#[test]
fn a_command_in_virtual_time_is_interrupted_too() {
    for (line, says) in [
        // The first run may have begun, and is cut short then.
        (
            "bench --twin --number_ios 1000M --completion poll,interrupt",
            "nvme interrupt\n",
        ),
        (
            "advise --twin --number_ios 1000M",
            "SIGTERM; no advice: not all candidates were run\n",
        ),
    ] {
        let child = begin(line);
        wait_for_handler(child.id(), Signal::TERM);
        kill_process(Pid::from_child(&child), Signal::TERM).expect("kill");
        let output = ended(child);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(143), "{line}: {said}");
        assert!(said.starts_with("joulio: ended by SIGTERM; "), "{said}");
        assert!(said.lines().count() == 1 && said.ends_with(says), "{said}");
    }
}

#[test]
fn a_run_that_waits_for_a_late_arrival_is_interrupted_too() {
    for completion in ["poll", "interrupt"] {
        let line =
            format!("{LONG} --ramp_time 0 --bursts 1:1h --completion {completion} --output json");
        let output = interrupted(&line, Signal::INT);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["runs"][0]["interrupted"], true);
    }
}

#[test]
fn a_command_that_is_to_outlive_its_terminal_does() {
    // nohup(1) ignores SIGHUP.
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_joulio"))
        .args(LONG.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    wait_for_job(child.id());
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::HUP).expect("kill");
    kill_process(pid, Signal::TERM).expect("kill");
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("piped");
    stderr.read_to_string(&mut said).expect("UTF-8");
    assert_eq!(ended(child).status.code(), Some(143), "{said}");
    assert!(said.contains("ended by SIGTERM"), "{said}");
}

#[test]
fn whoever_closes_the_pipe_has_enough() {
    let short = "--device emulated:instant,size=1M --number_ios 100";
    for line in [
        &format!("bench {short}"),
        &format!("bench {short} --output json"),
        "list emulated:instant",
        "id-ctrl emulated:instant",
        "--help",
    ] {
        let mut child = begin(line);
        drop(child.stdout.take());
        let mut said = String::new();
        let mut stderr = child.stderr.take().expect("piped");
        stderr.read_to_string(&mut said).expect("UTF-8");
        let output = ended(child);
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        assert_eq!(said, "", "{line}");
    }
}

#[test]
fn failed_ios_are_reported_also_if_nobody_reads_the_results() {
    let room = tempfile::tempdir().expect("a temporary directory");
    let bench = "bench --device emulated:instant,size=1m --completion poll --number_ios 200 \
                 --faults status=2/81/dnr@#10";
    for flags in ["--output json", "--plot out.svg"] {
        let output = unread(room.path(), &format!("{bench} {flags}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{flags}: {said}");
        assert!(said.contains("1 I/O(s) failed"), "{flags}: {said}");
    }
    assert!(room.path().join("out.svg").exists());
}

#[test]
fn a_full_disk_under_the_output_is_an_error_of_one_line() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let mut command = crate::common::program();
    let output = command
        .args(["list", "emulated:instant"])
        .stdout(full.expect("/dev/full"))
        .stderr(Stdio::piped())
        .spawn()
        .and_then(Child::wait_with_output)
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("standard output"), "{said}");
}

#[test]
fn a_table_is_printed_for_a_run_that_comes_to_its_end() {
    crate::common::joulio("bench --device emulated:instant,size=1M --number_ios 100")
        .assert()
        .success()
        .stdout(predicates::str::contains("ended early").not())
        .stdout(predicates::str::contains("modelled, not measured"));
}

#[test]
fn a_job_that_cannot_start_ends_those_that_wait_for_it() {
    let room = tempfile::tempdir().expect("a temporary directory");
    let disk = fs::File::create(room.path().join("disk")).expect("create");
    disk.set_len(1 << 20).expect("sparse");
    // The file may not grow beyond 64 KiB (setrlimit(2)), and the signal for that is ignored: its job fails while it
    // writes the data to be read, when the other job is already ready.
    let script = "trap '' XFSZ; ulimit -f 128; exec \"$0\" \"$@\"";
    let line = "bench --device emulated:instant,size=64k --device emulated:instant,file=disk \
                --numjobs 2 --number_ios 100 --verify=crc32c";
    let child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_joulio")])
        .args(line.split_whitespace())
        .current_dir(room.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let output = ended(child);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("verified"), "{said}");
}
