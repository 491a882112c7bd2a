//! `joulio trace`: its output, and refused requests.

use crate::common::{joulio, json, refused};
use serde_json::Value;
use std::fs;
use tempfile::{TempDir, tempdir};

fn room() -> TempDir {
    tempdir().expect("a temporary directory")
}

/// Asserts that `joulio trace` with `flags` is refused, with a message that contains all of `hints`.
#[track_caller]
fn trace(flags: &str, hints: &[&str]) {
    let said = refused(room().path(), &format!("trace {flags}"));
    for hint in hints {
        assert!(said.contains(hint), "{flags}: no '{hint}' in: {said}");
    }
}

#[test]
fn the_flags_of_the_work_are_those_of_bench() {
    trace("--bs 1000", &["--bs", "multiple", "512"]);
    trace("--iodepth 0", &["--iodepth", "at least 1"]);
    trace("--number_ios 0", &["--number_ios", "above zero"]);
    trace("--completion fast", &["fast", "poll", "interrupt"]);
    trace("--device nvme0n1", &["nvme0n1", "emulated:PROFILE"]);
    trace("--rw scribble", &["scribble", "randread"]);
}

#[test]
fn one_completion_mode_is_traced_at_a_time() {
    trace("--completion poll,interrupt", &["poll,interrupt"]);
}

#[test]
fn an_unknown_output_is_answered_with_the_known_ones() {
    trace("--output xml", &["xml", "text", "json", "perfetto"]);
}

#[test]
fn a_file_that_is_there_is_not_overwritten() {
    let room = room();
    fs::write(room.path().join("trace.json"), "mine").expect("written");
    let said = refused(room.path(), "trace --number_ios 1 --file trace.json");
    assert!(
        said.contains("trace.json") && said.contains("--force"),
        "{said}"
    );
}

#[test]
fn a_refused_trace_leaves_no_file() {
    // `refused` checks that no file was created.
    trace("--bs 1000 --file trace.json", &["--bs"]);
    trace("--file no/such/place.json", &["no/such/place.json"]);
    trace("--force", &["--file"]);
}

/// Returns the trace of 20 reads.
fn traced(completion: &str) -> Value {
    let flags = "--device emulated:instant,size=1M --number_ios 20 --ramp_time 0 --output json";
    json(&format!("trace {flags} --completion {completion}"))
}

#[test]
fn every_io_is_there_with_both_ends() {
    let trace = traced("poll");
    let ios = trace["ios"].as_array().expect("array");
    assert_eq!(ios.len(), 20);
    for io in ios {
        assert!(io["op"] == "read" && io["bytes"] == 4096 && io["status"] == 0);
        assert!(io["total_ns"].as_u64() > Some(0) && io["doorbell_ns"].is_u64());
    }
    assert_eq!(trace["overwritten_events"], 0);
    assert_eq!(trace["threads"][0]["doorbells"], 20);
}

#[test]
fn a_trace_shows_the_completion_mode_that_was_requested() {
    for (completion, kind) in [("poll", "spin"), ("interrupt", "block")] {
        let trace = traced(completion);
        let waits = trace["threads"][0]["waits"].as_array().expect("array");
        assert!(waits.iter().all(|wait| wait["kind"] == kind), "{waits:?}");
    }
}

#[test]
fn a_file_is_written_for_perfetto_and_again_when_forced() {
    let room = room();
    let line = "trace --device emulated:instant,size=1M --number_ios 4 --output perfetto --file t";
    for line in [line.to_string(), format!("{line} --force")] {
        let mut command = joulio(&line);
        command
            .current_dir(room.path())
            .assert()
            .success()
            .stdout("");
        let bytes = fs::read(room.path().join("t")).expect("written");
        let trace: Value = serde_json::from_slice(&bytes).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("array");
        let begun = events.iter().filter(|event| event["ph"] == "b").count();
        assert_eq!(begun, 4);
    }
}

#[test]
fn text_has_a_line_for_every_io() {
    let line = "trace --device emulated:instant,size=1M --number_ios 7 --iodepth 3 --ramp_time 0";
    let out = joulio(line).assert().success().get_output().stdout.clone();
    let text = String::from_utf8(out).expect("UTF-8");
    assert_eq!(
        text.lines().filter(|line| line.contains(" read ")).count(),
        7
    );
}

#[test]
fn adaptive_says_by_whose_costs_it_planned() {
    let line =
        "trace --device emulated:instant,size=1M --number_ios 7 --ramp_time 0 --machine xeon-6230";
    for completion in ["poll", "adaptive"] {
        let run = joulio(&format!("{line} --completion {completion}")).assert();
        let out = run.success().get_output().stdout.clone();
        let text = String::from_utf8(out).expect("UTF-8");
        let says = text.ends_with("\nPlanned and priced by the costs of xeon-6230.\n");
        assert_eq!(says, completion == "adaptive", "{text}");
    }
}

#[test]
fn adaptive_says_by_which_plan_it_waited_and_what_that_cost() {
    let flags = "--number_ios 300 --ramp_time 0 --output json --completion adaptive";
    let trace = json(&format!("trace {flags}"));
    let ios = trace["ios"].as_array().unwrap();
    // An expectation exists once there is a history.
    let mut expected = ios.iter().map(|io| io["plan"]["expected_joules"].as_f64());
    assert!(expected.any(|joules| joules.is_some_and(|joules| joules > 0.0)));
    assert_eq!(ios[0]["plan"]["expected_joules"], Value::Null);
    for io in ios {
        let plan = &io["plan"];
        assert!(plan["watch_until_ns"].is_u64(), "{io:#}");
        let realised = plan["realised_joules"].as_f64().unwrap();
        let waited = ["slept_ns", "blocked_ns", "polled_ns", "paused_ns"];
        let waited = waited.map(|kind| io["meanwhile"][kind].as_u64().unwrap());
        // Energy was used while the core waited.
        let waits = waited.iter().sum::<u64>() > 0;
        assert_eq!(realised > 0.0, waits, "{io:#}");
    }
    // A mode without a plan for each class reports none.
    assert!(traced("poll")["ios"][0].get("plan").is_none());
}
