//! Tests of `--faults`: effects on a run, and marks that distinguish the result from a normal one.

use crate::common::{failed, joulio, json, refused};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const BENCH: &str = "bench --device emulated:instant,size=1m --completion poll --number_ios 200";

#[test]
fn a_run_with_faults_says_so() {
    let report = json(&format!(
        "{BENCH} --output json --faults seed=7,late=1ms@#10"
    ));
    assert_eq!(report["manifest"]["faults"], "seed=7,late=1ms@#10");
    joulio(&format!("{BENCH} --faults late=1ms@#10,double@0.1"))
        .assert()
        .success()
        .stdout(contains("with faults late=1ms@#10,double@0.1\n"));
}

#[test]
fn a_run_without_faults_says_nothing_of_them() {
    let report = json(&format!("{BENCH} --output json"));
    assert!(report["manifest"]["faults"].is_null());
    joulio(BENCH)
        .assert()
        .success()
        .stdout(contains("fault").not());
}

#[test]
fn a_fault_reaches_the_run() {
    let room = tempfile::tempdir().unwrap();
    let said = failed(
        room.path(),
        &format!("{BENCH} --faults status=2/81/dnr@#10"),
        1,
    );
    assert!(said.contains("1 I/O(s) failed"), "{said}");
}

#[test]
fn a_fault_while_blocks_are_read_back_is_counted() {
    // 10 blocks are written during the run and then read back.
    for number in [5, 15] {
        let report = json(&format!(
            "bench --device emulated:instant,size=1m --completion poll --rw randwrite --number_ios 10 --ramp_time 0 \
             --verify crc32c --output json --max_retries 1 --faults status=2/81@#{number}"
        ));
        let run = &report["runs"][0];
        assert_eq!(run["verify"]["blocks"], 10, "{number}");
        assert_eq!(run["faults"]["retries"], 1, "{number}");
    }
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_with_the_kinds() {
    let room = tempfile::tempdir().unwrap();
    for command in [BENCH, "serve --device emulated:instant,size=1m --socket s"] {
        for plan in ["explode", "drop@2", "late", "seed=x"] {
            let said = refused(room.path(), &format!("{command} --faults {plan}"));
            assert!(said.contains("lost-irq, spurious-irq"), "{said}");
        }
    }
}

#[test]
fn only_an_emulated_device_commits_faults() {
    let room = tempfile::tempdir().unwrap();
    for device in ["pcie:0000:01:00.0", "vfio-user:s"] {
        let line = format!("bench --rw randread --device {device} --faults drop@0.1");
        let said = refused(room.path(), &line);
        assert!(said.contains("only an emulated device"), "{said}");
    }
}

#[test]
fn a_server_with_faults_says_so() {
    let room = tempfile::tempdir().unwrap();
    let line = "serve --device emulated:instant,size=1m --socket s --faults stale@0.5,removed@1s";
    let mut server = crate::common::program()
        .args(line.split_whitespace())
        .current_dir(room.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(said.ends_with(", faults stale@0.5,removed@1s\n"), "{said}");
}
