//! Stalls between I/Os, sizes that I/Os draw, percentiles and formats, as fio has them.

use crate::common::{joulio, runs};

#[test]
fn a_job_stalls_when_nothing_is_in_flight() {
    // Two I/Os and a stall of 1 ms, ten times in 10 ms: exactly, in virtual time.
    let flags = "--twin --machine xeon-e3-1230v5 --device emulated:optane-900p --iodepth 4 \
                 --completion poll,hybrid --runtime 10ms --ramp_time 0 --thinktime 1ms --thinktime_blocks 2";
    for run in runs(flags) {
        assert_eq!(run["loop"], "closed");
        assert_eq!(run["all"]["ios"], 20, "{run}");
    }
    // A stall is no part of a latency, and I/Os are not left behind.
    let flags = "--device emulated:instant,size=1M --iodepth 4 --numjobs 2 --number_ios 20 \
                 --ramp_time 0 --thinktime 100ms --thinktime_blocks 10";
    for run in runs(flags) {
        assert_eq!(run["all"]["ios"], 40, "{run}");
        assert_eq!(run["falls_behind"], false);
        let seconds = run["seconds"].as_f64().expect("seconds");
        assert!(seconds >= 0.1, "{seconds}");
    }
}

#[test]
fn each_io_draws_its_size() {
    for flags in [
        "--twin --machine xeon-e3-1230v5",
        "--rw randread",
        "--rw rw --iodepth 8 --allow-write",
    ] {
        let flags = format!(
            "--device emulated:optane-900p,size=64M {flags} --completion poll,interrupt \
             --ramp_time 0 --number_ios 4000 --bssplit 4k/75:20k/25"
        );
        for run in runs(&flags) {
            assert_eq!(run["all"]["ios"], 4000);
            let figure = |name: &str| run["all"][name].as_f64().expect("a number");
            let bytes = figure("bandwidth_bytes_per_second") / figure("iops");
            // 8 KiB on average.
            assert!((7_600.0..8_800.0).contains(&bytes), "{bytes}");
        }
    }
}

const VIRTUAL: &str = "bench --twin --machine xeon-e3-1230v5 --device optane-900p --number_ios 500";

#[test]
fn percentiles_are_shown_and_histograms_kept_where_they_are_asked_for() {
    let said = |more: &str| {
        let output = joulio(&format!("{VIRTUAL} --completion poll {more}"))
            .assert()
            .success();
        String::from_utf8(output.get_output().stdout.clone()).expect("text")
    };
    let table = said("--percentile_list 25:99.99");
    assert!(
        table.contains("p25 us*") && table.contains("p99.99 us*"),
        "{table}"
    );
    let report = |more: &str| -> serde_json::Value {
        let json = serde_json::from_str::<serde_json::Value>(&said(more)).expect("JSON");
        json["runs"][0]["all"]["latency_ns"].clone()
    };
    let latency = report("--output json+ --percentile_list 50");
    let bins = latency["bins"].as_object().expect("bins");
    let ios: u64 = bins.values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(ios, 500);
    assert_eq!(latency["percentile"]["50.000000"], latency["p50"]);
    assert!(report("--output json")["bins"].is_null());
}

#[test]
fn csv_has_a_line_a_run() {
    let line = format!("{VIRTUAL} --completion poll,interrupt --bs 4k,8k --output csv");
    let output = joulio(&line).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("text");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let at = |name: &str| header.iter().position(|it| *it == name).expect(name);
    let rows: Vec<_> = lines.collect();
    assert_eq!(rows.len(), 4);
    assert!(
        rows.iter()
            .all(|row| row.len() == header.len() && row[at("ios")] == "500")
    );
    assert_eq!(
        (rows[0][at("bs")], rows[3][at("completion")]),
        ("4k", "interrupt")
    );
    assert!(rows.iter().all(|row| row[at("modelled")] == "true"));
}
