//! `--output json` has the documented form, and its figures are consistent with each other.

use crate::common::{json, runs, short_ramp};
use serde_json::Value;

const SMALL: &str =
    "--device emulated:optane-900p,size=16M --number_ios 500 --machine generic-server --meter none";

fn at<'a>(run: &'a Value, pointer: &str) -> &'a Value {
    run.pointer(pointer)
        .unwrap_or_else(|| panic!("{pointer} is missing in {run:#}"))
}

fn count(run: &Value, pointer: &str) -> u64 {
    let value = at(run, pointer);
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{pointer} is no count: {value}"))
}

fn number(run: &Value, pointer: &str) -> f64 {
    let value = at(run, pointer);
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{pointer} is no number: {value}"))
}

fn text<'a>(run: &'a Value, pointer: &str) -> &'a str {
    let value = at(run, pointer);
    value
        .as_str()
        .unwrap_or_else(|| panic!("{pointer} is no text: {value}"))
}

#[track_caller]
fn assert_close(a: f64, b: f64) {
    assert!(
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
        "{a} is not {b}"
    );
}

fn assert_shape(run: &Value) {
    assert!(
        at(run, "/devices")
            .as_array()
            .is_some_and(|d| !d.is_empty())
    );
    for pointer in [
        "/engine",
        "/completion/requested",
        "/completion/effective",
        "/rw",
        "/loop",
        "/energy/0/boundary",
        "/energy/0/source",
    ] {
        assert!(!text(run, pointer).is_empty(), "{pointer} is empty");
    }
    assert!(at(run, "/completion/reason").is_null());
    for pointer in ["/bs", "/iodepth", "/numjobs"] {
        count(run, pointer);
    }
    for side in ["read", "write", "all"] {
        for key in ["ios", "errors"] {
            count(run, &format!("/{side}/{key}"));
        }
        for key in ["iops", "bandwidth_bytes_per_second", "latency_ns/mean"] {
            number(run, &format!("/{side}/{key}"));
        }
        for key in ["p50", "p90", "p99", "p999", "max"] {
            count(run, &format!("/{side}/latency_ns/{key}"));
        }
    }
    for role in ["submitter", "device", "kernel"] {
        for key in ["user_seconds", "system_seconds"] {
            number(run, &format!("/threads/{role}/{key}"));
        }
        for key in ["threads", "voluntary_switches", "involuntary_switches"] {
            count(run, &format!("/threads/{role}/{key}"));
        }
    }
    for key in [
        "polls",
        "empty_polls",
        "sleeps",
        "oversleeps",
        "blocks",
        "interrupts",
        "wakes",
    ] {
        count(run, &format!("/wait/{key}"));
    }
    for key in ["joules", "watts", "bytes_per_joule", "ios_per_joule"] {
        assert!(number(run, &format!("/energy/0/{key}")) > 0.0, "{key}");
    }
    assert_eq!(at(run, "/energy/0/modelled"), true);
    assert_eq!(at(run, "/interrupted"), false);
    assert!(number(run, "/seconds") > 0.0);
}

fn assert_consistent(run: &Value) {
    let seconds = number(run, "/seconds");
    let all = count(run, "/all/ios");
    assert_eq!(all, count(run, "/read/ios") + count(run, "/write/ios"));
    for side in ["read", "write", "all"] {
        let ios = count(run, &format!("/{side}/ios")) as f64;
        let bytes = ios * count(run, "/bs") as f64;
        assert_eq!(count(run, &format!("/{side}/errors")), 0);
        assert_close(number(run, &format!("/{side}/iops")), ios / seconds);
        let bandwidth = number(run, &format!("/{side}/bandwidth_bytes_per_second"));
        assert_close(bandwidth, bytes / seconds);
        let ladder = ["p50", "p90", "p99", "p999", "max"]
            .map(|p| count(run, &format!("/{side}/latency_ns/{p}")));
        assert!(ladder.is_sorted(), "{side}: {ladder:?}");
        assert!(number(run, &format!("/{side}/latency_ns/mean")) <= ladder[4] as f64);
    }
    let joules = number(run, "/energy/0/joules");
    assert_close(joules, number(run, "/energy/0/watts") * seconds);
    assert_close(number(run, "/energy/0/ios_per_joule"), all as f64 / joules);
    let bytes = all as f64 * count(run, "/bs") as f64;
    assert_close(number(run, "/energy/0/bytes_per_joule"), bytes / joules);
    assert!(count(run, "/wait/empty_polls") <= count(run, "/wait/polls"));
    assert!(count(run, "/wait/oversleeps") <= count(run, "/wait/sleeps"));
}

#[test]
fn a_report_says_what_it_was_made_by_and_of() {
    let report = json(&format!(
        "bench --output json --seed 7 {SMALL} {}",
        short_ramp()
    ));
    let manifest = &report["manifest"];
    for key in ["joulio", "kernel", "cpu"] {
        assert!(manifest[key].is_string(), "{key}");
    }
    assert!(
        manifest["command"]
            .as_array()
            .is_some_and(|c| c[1] == "bench")
    );
    assert!(manifest["cpus"].as_u64().is_some_and(|n| n > 0));
    assert!(manifest["started_unix_seconds"].is_u64());
    assert_eq!(manifest["seed"], 7);
    assert_eq!(manifest["number_ios"], 500);
    assert!(manifest["runtime_seconds"].is_null());
    assert_eq!(manifest["devices"][0]["bytes"], 16 << 20);
    assert_eq!(manifest["devices"][0]["block_bytes"], 512);
    assert_eq!(manifest["devices"][0]["emulates"], "optane-900p");
    assert_eq!(manifest["energy"]["meters"], Value::Array(Vec::new()));
    assert!(manifest["energy"]["not_read"].is_array());
    assert_eq!(manifest["energy"]["machine_profile"], "generic-server");
}

#[test]
fn each_completion_mode_is_a_run_of_the_documented_shape() {
    let runs = runs(&format!("{SMALL} {}", short_ramp()));
    let requested: Vec<_> = runs
        .iter()
        .map(|run| text(run, "/completion/requested"))
        .collect();
    assert_eq!(requested, ["poll", "interrupt", "hybrid", "adaptive"]);
    for run in &runs {
        assert_shape(run);
        assert_consistent(run);
        assert_eq!(text(run, "/rw"), "randread");
        assert_eq!(text(run, "/loop"), "closed");
        assert_eq!(text(run, "/engine"), "nvme");
        assert_eq!(count(run, "/bs"), 4096);
        assert_eq!(count(run, "/all/ios"), 500);
        assert_eq!(count(run, "/write/ios"), 0);
        assert_eq!(count(run, "/threads/submitter/threads"), 1);
        assert_eq!(count(run, "/threads/device/threads"), 1);
        assert_eq!(count(run, "/threads/kernel/threads"), 0);
    }
}

#[test]
fn polling_never_blocks_and_takes_no_interrupt() {
    for run in runs(&format!(
        "{SMALL} --completion poll --rw randrw --iodepth 4"
    )) {
        assert_eq!(count(&run, "/wait/interrupts"), 0);
        assert_eq!(count(&run, "/wait/blocks"), 0);
        assert_eq!(count(&run, "/wait/wakes"), 0);
        assert!(count(&run, "/wait/polls") > 0);
    }
}

#[test]
fn interrupts_and_wakes_are_no_more_than_ios() {
    for depth in [1, 8] {
        for run in runs(&format!("{SMALL} --completion interrupt --iodepth {depth}")) {
            let ios = count(&run, "/all/ios");
            let (interrupts, wakes) = (count(&run, "/wait/interrupts"), count(&run, "/wait/wakes"));
            assert!(interrupts <= ios, "{interrupts} interrupts, {ios} I/Os");
            assert!(wakes <= ios, "{wakes} wakes, {ios} I/Os");
            assert!(wakes <= count(&run, "/wait/blocks"));
            assert!(wakes > 0, "an I/O of microseconds is blocked for");
        }
    }
}

#[test]
fn every_job_does_its_number_of_ios_and_no_more() {
    for (jobs, depth) in [(1, 1), (1, 32), (3, 8)] {
        for run in runs(&format!(
            "{SMALL} {} --rw randrw --numjobs {jobs} --iodepth {depth}",
            short_ramp()
        )) {
            assert_shape(&run);
            assert_consistent(&run);
            assert_eq!(count(&run, "/all/ios"), jobs * 500);
            assert!(count(&run, "/read/ios") > 0 && count(&run, "/write/ios") > 0);
            assert_eq!(count(&run, "/threads/submitter/threads"), jobs);
        }
    }
}

#[test]
fn the_ios_of_the_ramp_do_not_count() {
    for run in runs(&format!("{SMALL} --ramp_time 50ms --iodepth 32")) {
        assert_eq!(count(&run, "/all/ios"), 500);
    }
}

#[test]
fn a_depth_beyond_the_number_of_ios_does_not_add_any() {
    for run in runs("--device emulated:instant,size=1M --number_ios 10 --iodepth 64") {
        assert_eq!(count(&run, "/all/ios"), 10);
    }
}

#[test]
fn a_mix_of_one_kind_has_none_of_the_other() {
    for run in runs(&format!(
        "{SMALL} {} --rw randrw --rwmixread 0",
        short_ramp()
    )) {
        assert_eq!(count(&run, "/read/ios"), 0);
    }
    for run in runs(&format!("{SMALL} {} --rw rw --rwmixread 100", short_ramp())) {
        assert_eq!(count(&run, "/write/ios"), 0);
    }
}
