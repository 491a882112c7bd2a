//! fio's stalls between I/Os, random block sizes, percentiles and formats.

use crate::common::{joulio, runs};

#[test]
fn a_job_stalls_when_nothing_is_in_flight() {
    // In virtual time: exactly two I/Os and a stall of 1 ms, ten times in 10 ms.
    let flags = "--twin --machine xeon-e3-1230v5 --device emulated:optane-900p --iodepth 4 \
                 --completion poll,hybrid --runtime 10ms --ramp_time 0 --thinktime 1ms --thinktime_blocks 2";
    for run in runs(flags) {
        assert_eq!(run["loop"], "closed");
        assert_eq!(run["all"]["ios"], 20, "{run}");
    }
    // Stalls are not part of latencies, and no I/O is left in flight.
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

#[test]
fn each_io_is_logged_where_that_is_asked_for() {
    let room = tempfile::tempdir().expect("a temporary directory");
    let bench = |more: &str| {
        let line = format!(
            "bench --device emulated:instant,size=1M --ramp_time 0 --number_ios 50 --numjobs 2 {more}"
        );
        joulio(&line).current_dir(&room).assert()
    };
    let lines = |name: &str| {
        let text = std::fs::read_to_string(room.path().join(name)).expect(name);
        let lines = text
            .lines()
            .map(|line| line.split(", ").map(str::to_owned).collect());
        lines.collect::<Vec<Vec<String>>>()
    };
    bench("--completion poll --write_lat_log one --write_iops_log one --rw rw --allow-write")
        .success();
    for job in ["1", "2"] {
        let log = lines(&format!("one_lat.{job}.log"));
        assert_eq!(log.len(), 50);
        assert!(log.iter().all(|io| io.len() == 5 && io[3] == "4096"));
        assert!(log.iter().any(|io| io[2] == "0") && log.iter().any(|io| io[2] == "1"));
        assert_eq!(lines(&format!("one_iops.{job}.log")).len(), 50);
    }
    // Each run has its own log, also with processes, and averaging gives fewer lines.
    bench("--completion poll,interrupt --write_bw_log two --log_avg_msec 60000").success();
    assert_eq!(lines("two-poll_bw.1.log").len(), 1);
    assert_eq!(lines("two-interrupt_bw.2.log").len(), 1);
    // The names differ only in characters that logs' names replace, so one log would overwrite the other.
    for name in ["a:b", "a_b"] {
        let file = std::fs::File::create(room.path().join(name)).expect(name);
        file.set_len(1 << 20).expect(name);
    }
    let line = "bench --device ./a:b+./a_b --number_ios 1 --write_lat_log same";
    let refused = joulio(line).current_dir(&room).assert().code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(
        said.contains("--write_lat_log: ") && said.contains("same-._a_b_lat.1.log"),
        "{said}"
    );
    assert!(said.lines().count() == 1, "{said}");
    // A log that cannot be written is reported before anything runs.
    let refused = bench("--completion poll --write_lat_log no/where").code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(
        said.contains("no/where_lat.1.log") && said.lines().count() == 1,
        "{said}"
    );
    let refused = bench("--twin --machine xeon-e3-1230v5 --write_lat_log x").code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("--write_lat_log"), "{said}");
}

#[test]
fn ios_go_out_and_come_back_in_batches() {
    let flags = "--ramp_time 0 --number_ios 504 --iodepth 8";
    for batches in [
        "--iodepth_batch_submit 2",
        "--iodepth_batch_complete_min 8",
        "--iodepth_batch 3 --iodepth_batch_complete 5",
        "--iodepth_batch_complete_max 3",
        "--iodepth_batch_complete_min 2 --iodepth_batch_complete_max 1",
    ] {
        let device = "--device emulated:optane-900p,size=1M --completion poll,interrupt";
        for run in runs(&format!("{device} {flags} {batches}")) {
            assert_eq!(run["all"]["ios"], 504, "{batches}");
            assert_eq!(run["all"]["errors"], 0, "{batches}");
        }
    }
    // Eight I/Os that are submitted and waited for together take 63 system calls; one at a time takes hundreds.
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.as_file().set_len(1 << 20).expect("its length");
    let calls = |batches: &str| {
        let device = format!("--device {} --engine libaio", file.path().display());
        let runs = runs(&format!("{device} {flags} {batches}"));
        runs[0]["system_calls"].as_u64().expect("counted")
    };
    let together = calls("--iodepth_batch_complete_min 8");
    let alone = calls("--iodepth_batch_submit 1 --iodepth_batch_complete_min 8");
    assert!(together <= 4 * 63 && alone >= 504, "{together} {alone}");
    // One completion at a time is fetched by a call of its own.
    let each = calls("--iodepth_batch_complete_max 1");
    assert!(each >= 504, "{each}");
    let line = format!("bench {flags} --iodepth_batch_complete_min 9");
    let refused = joulio(&line).assert().code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("--iodepth_batch_complete_min"), "{said}");
}

#[test]
fn both_spellings_are_taken_beside_a_section_too() {
    let flags = "--name=a --allow_write --number-ios 8 --device emulated:instant,size=16M \
                 --completion poll";
    for run in runs(flags) {
        assert_eq!(run["all"]["ios"], 8, "{run}");
    }
}
