//! `joulio bench` with lists, repetitions and a state file.

use crate::common::{json, killed_five_times, refused, stdout, thorough_or};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use tempfile::TempDir;

const TWIN: &str = "bench --twin --machine xeon-e3-1230v5 --number_ios 500";

/// Returns each run's factors and repetition, in the order of the report.
fn runs(report: &Value) -> Vec<(Value, u64)> {
    let runs = report["runs"].as_array().expect("runs");
    let one = |run: &Value| (run["point"].clone(), run["replicate"].as_u64().unwrap());
    runs.iter().map(one).collect()
}

fn set(report: &Value) -> BTreeSet<String> {
    runs(report).iter().map(|run| format!("{run:?}")).collect()
}

#[test]
fn lists_are_crossed_and_each_combination_has_a_run() {
    let line = format!(
        "{TWIN} --device emulated:optane-900p+emulated:samsung-980-pro --rw randread,randwrite --bs 4k,32k --iodepth 1,2 --numjobs 1,2 --completion poll,interrupt --output json"
    );
    let report = json(&line);
    assert_eq!(set(&report).len(), 2_usize.pow(6));
    for run in report["runs"].as_array().unwrap() {
        let point = &run["point"];
        let text = |value: &Value| value.to_string();
        assert_eq!(point["iodepth"], text(&run["iodepth"]));
        assert_eq!(point["numjobs"], text(&run["numjobs"]));
        assert_eq!(point["rw"], run["rw"]);
        assert_eq!(point["device"], run["devices"][0]);
        assert_eq!(point["bs"] == "4k", run["bs"] == 4096);
        assert_eq!(point["completion"], run["completion"]["effective"]);
    }
    let devices = report["manifest"]["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 2);
}

#[test]
fn devices_of_two_flags_share_the_jobs_of_a_run() {
    let line = format!(
        "{TWIN} --device emulated:optane-900p --device emulated:instant+emulated:samsung-980-pro --numjobs 2 --completion poll --output json"
    );
    let report = json(&line);
    let runs = report["runs"].as_array().unwrap();
    let devices: Vec<_> = runs.iter().map(|run| run["devices"].clone()).collect();
    let other = ["emulated:instant", "emulated:samsung-980-pro"];
    let want = other.map(|other| serde_json::json!(["emulated:optane-900p", other]));
    assert_eq!(devices, want);
}

#[test]
fn the_random_order_is_another_and_of_the_same_runs() {
    let line = format!(
        "{TWIN} --bs 4k,8k,16k,32k --iodepth 1,2,4 --completion poll --replicates 2 --output json"
    );
    let listed = json(&line);
    let random = json(&format!("{line} --order random"));
    assert_eq!(set(&listed), set(&random));
    let (listed, random) = (runs(&listed), runs(&random));
    assert_ne!(listed, random);
    // A repetition is complete before the next one begins.
    assert!(random.is_sorted_by_key(|(_, replicate)| *replicate));
}

#[test]
fn repetitions_have_seeds_of_their_own_and_the_table_their_means() {
    let room = TempDir::new().unwrap();
    let line = format!(
        "{TWIN} --device emulated:samsung-980-pro --completion poll,interrupt --replicates 4"
    );
    let report = json(&format!("{line} --output json"));
    let runs = report["runs"].as_array().unwrap();
    let iops = runs
        .iter()
        .filter(|run| run["completion"]["requested"] == "poll");
    let iops: Vec<f64> = iops
        .map(|run| run["all"]["iops"].as_f64().unwrap())
        .collect();
    let distinct: BTreeSet<_> = iops.iter().map(|iops| iops.to_bits()).collect();
    assert_eq!(distinct.len(), 4, "{iops:?}");
    let mean = iops.iter().sum::<f64>() / 4.0;
    let text = stdout(room.path(), &line);
    let row = text
        .lines()
        .find(|line| line.trim_start().starts_with("poll "));
    let cells: Vec<_> = row.expect(&text).split_whitespace().collect();
    assert_eq!(cells[1], "4/4");
    assert_eq!(cells[2], format!("{mean:.0}"));
    assert!(cells[3].parse::<f64>().unwrap() > 0.0);
    assert!(
        text.contains("the most IOPS, ") || text.contains(": most IOPS, "),
        "{text}"
    );
}

#[test]
fn what_differs_by_nothing_is_said_to_tie() {
    let room = TempDir::new().unwrap();
    // A job alone on its CPU polls with both modes.
    let line = format!(
        "{TWIN} --device emulated:optane-900p --completion poll,active-check=poll --replicates 3"
    );
    let text = stdout(room.path(), &line);
    let line = text.lines().find(|line| line.contains("most IOPS"));
    let line = line.expect(&text);
    assert!(line.contains("the IOPS of "), "{line}");
    assert!(
        line.ends_with("cannot be told apart (not significant)."),
        "{line}"
    );
}

#[test]
fn a_sweep_goes_on_from_its_state_and_may_grow() {
    let room = TempDir::new().unwrap();
    let small = format!("{TWIN} --bs 4k,8k --completion poll --state s.jsonl --output json");
    let first = stdout(room.path(), &small);
    let lines = || {
        let text = fs::read_to_string(room.path().join("s.jsonl")).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let kept = lines();
    assert_eq!(kept.len(), 1 + 2);
    // No run is left to do, and the results are the same.
    let again: Value = serde_json::from_str(&stdout(room.path(), &small)).unwrap();
    let first: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(again["runs"], first["runs"]);
    assert_eq!(lines(), kept);
    let large = small.replace("--bs 4k,8k", "--bs 8k,16k,4k --replicates 2");
    let report: Value = serde_json::from_str(&stdout(room.path(), &large)).unwrap();
    assert_eq!(report["runs"].as_array().unwrap().len(), 6);
    assert_eq!(lines().len(), 1 + 6);
    assert_eq!(lines()[..3], kept);
}

#[test]
fn a_state_of_another_bench_is_refused_and_kept() {
    let room = TempDir::new().unwrap();
    let line = format!("{TWIN} --completion poll --state s.jsonl");
    stdout(room.path(), &line);
    let path = room.path().join("s.jsonl");
    let before = fs::read(&path).unwrap();
    for other in [
        line.replace("--number_ios 500", "--number_ios 501"),
        line.replace("xeon-e3-1230v5", "xeon-6230"),
        line.clone() + " --seed 2",
        "bench --number_ios 500 --completion poll --state s.jsonl".into(),
    ] {
        let said = refused(room.path(), &other);
        assert!(said.contains("another bench"), "{said}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[test]
fn a_state_of_another_machine_is_refused_and_kept() {
    let room = TempDir::new().unwrap();
    let path = room.path().join("s.jsonl");
    let line = "bench --device emulated:instant,size=1M --number_ios 20 --ramp_time 0 --meter none --completion poll \
                --state s.jsonl --output json";
    let first: Value = serde_json::from_str(&stdout(room.path(), line)).unwrap();
    let own = fs::read_to_string(&path).unwrap();
    let (header, records) = own.split_once('\n').unwrap();
    let header: Value = serde_json::from_str(header).unwrap();
    for (key, words) in [
        ("cpu", "CPU another, here "),
        ("kernel", "kernel another, here "),
        ("host", "host name another, here "),
    ] {
        let mut other = header.clone();
        assert!(other["machine"][key].is_string(), "{header}");
        other["machine"][key] = "another".into();
        let text = format!("{other}\n{records}");
        fs::write(&path, &text).unwrap();
        let said = refused(room.path(), line);
        assert!(said.contains("another machine"), "{said}");
        assert!(said.contains(words) && !said.contains(';'), "{said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    // It continues on its own machine, and so does a file from before state files named the machine.
    let mut earlier = header.clone();
    earlier.as_object_mut().unwrap().remove("machine");
    for text in [own.clone(), format!("{earlier}\n{records}")] {
        fs::write(&path, &text).unwrap();
        let again: Value = serde_json::from_str(&stdout(room.path(), line)).unwrap();
        assert_eq!(again["runs"], first["runs"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    // Virtual time gives the same results on every machine.
    let line = format!("{TWIN} --completion poll --state twin.jsonl");
    stdout(room.path(), &line);
    let twin = fs::read_to_string(room.path().join("twin.jsonl")).unwrap();
    assert!(
        !twin.lines().next().unwrap().contains("\"machine\":{"),
        "{twin}"
    );
}

#[test]
fn a_state_of_other_profiles_in_the_same_files_is_refused_and_kept() {
    let room = TempDir::new().unwrap();
    let profile = |name: &str| stdout(room.path(), &format!("profiles {name}"));
    for (name, flag, value, other) in [
        (
            "optane-900p",
            "--device emulated:./mine.toml",
            "us = { value = 7.0,",
            "us = { value = 6.0,",
        ),
        (
            "generic-server",
            "--machine ./mine.toml",
            "app_ns = { value = 200,",
            "app_ns = { value = 300,",
        ),
    ] {
        let (file, state) = (room.path().join("mine.toml"), room.path().join(name));
        let text = profile(name);
        assert!(text.contains(value), "{text}");
        fs::write(&file, &text).unwrap();
        let line = format!("bench --twin --number_ios 500 --completion poll {flag} --state {name}");
        let first = stdout(room.path(), &line);
        assert_eq!(stdout(room.path(), &line), first);
        let before = fs::read(&state).unwrap();
        fs::write(&file, text.replace(value, other)).unwrap();
        let said = refused(room.path(), &line);
        assert!(said.contains("another bench"), "{said}");
        assert_eq!(fs::read(&state).unwrap(), before);
    }
}

#[test]
fn wrong_lists_are_refused_by_their_flag() {
    let room = TempDir::new().unwrap();
    for (flags, hint) in [
        ("--bs 4k,4096", "--bs: 4k is given twice"),
        ("--iodepth 1,,2", "--iodepth"),
        ("--bs 4k,x", "--bs"),
        ("--device emulated:instant+", "instant+"),
        ("--device emulated:instant+emulated:none", "none"),
        ("--rate_iops max,0", "rate_iops"),
        (
            "--completion poll,poll",
            "--completion: poll is given twice",
        ),
        ("--order shuffled", "listed or random"),
        ("--replicates 0", "--replicates"),
        ("--iodepth 1,100000", "iodepth"),
    ] {
        for twin in ["", "--twin"] {
            let said = refused(
                room.path(),
                &format!("bench {twin} --number_ios 10 {flags}"),
            );
            assert!(said.contains(hint), "{flags}: {said}");
        }
    }
    let said = refused(room.path(), "trace --bs 4k,8k");
    assert!(
        said.contains("--bs: only joulio bench takes a list"),
        "{said}"
    );
    let said = refused(
        room.path(),
        "advise --twin --device emulated:instant+emulated:optane-900p",
    );
    assert!(
        said.contains("--device: only joulio bench takes a list"),
        "{said}"
    );
}

/// Ten real runs, each long enough to be killed.
const KILLED: &str = "bench --device emulated:instant,size=1M --bs 512,1k,2k,4k,8k --completion poll,interrupt --number_ios 3000 --ramp_time 0 --meter none --order random --state s.jsonl --output json";

#[test]
fn killed_five_times_the_same_runs_are_done() {
    let (room, whole) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = room.path().join("s.jsonl");
    killed_five_times(room.path(), KILLED, &path);
    let killed: Value = serde_json::from_str(&stdout(room.path(), KILLED)).unwrap();
    let whole: Value = serde_json::from_str(&stdout(whole.path(), KILLED)).unwrap();
    assert_eq!(set(&killed).len(), 10);
    assert_eq!(set(&killed), set(&whole));
    let text = fs::read_to_string(&path).unwrap();
    for line in text.lines().skip(1) {
        let record: Value = serde_json::from_str(line).expect("a whole line");
        assert_eq!(record["result"]["all"]["ios"], 3000);
    }
    assert_eq!(text.lines().count(), 1 + 10);
}

#[test]
fn each_run_s_begin_and_end_are_there_by_both_clocks() {
    let report = json(
        "bench --device emulated:instant --completion poll --bs 4k,8k --number_ios 2000 --ramp_time 0 --output json",
    );
    let runs = report["runs"].as_array().unwrap();
    let moment = |run: &Value, at: &str, clock: &str| run[at][clock].as_f64().expect(at);
    let mut before = 0.0;
    for run in runs {
        let [begin, end] = ["begin", "end"].map(|at| moment(run, at, "monotonic_seconds"));
        assert!(before <= begin && begin < end, "{before} {begin} {end}");
        let seconds = run["seconds"].as_f64().unwrap();
        assert!((end - begin - seconds).abs() < 1e-6);
        let [unix_begin, unix_end] = ["begin", "end"].map(|at| moment(run, at, "unix_seconds"));
        assert!((unix_end - unix_begin - seconds).abs() < 1e-3);
        before = end;
    }
}

#[test]
fn ios_longer_than_the_device_takes_at_once_go_out_in_parts_and_come_back_whole() {
    let ios = thorough_or(60, 12);
    let report = json(&format!(
        "bench --device emulated:optane-900p,size=24M --rw randrw --verify crc32c --allow-write --bs 128k,256k,1M,384k --iodepth 1,3 --number_ios {ios} --ramp_time 0 --completion poll,interrupt --output json",
    ));
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 16);
    for run in runs {
        assert_eq!(run["all"]["ios"], ios, "{run}");
        let verify = &run["verify"];
        assert_eq!(verify["errors"], 0, "{verify}");
        // Blocks that were read, and blocks that were written and read back.
        assert!(verify["blocks"].as_u64().unwrap() > ios / 3, "{verify}");
    }
    // More commands than a queue holds: the others wait until there is room.
    let ios = thorough_or(400, 200);
    let report = json(&format!(
        "bench --device emulated:instant,size=1G --bs 1M --iodepth 200 --number_ios {ios} --ramp_time 0 --completion poll --output json",
    ));
    assert_eq!(report["runs"][0]["all"]["ios"], ios);
}

#[test]
fn virtual_time_splits_as_a_real_run_does() {
    let report = json(
        "bench --twin --machine xeon-e3-1230v5 --device emulated:optane-900p --engine psync --completion interrupt --bs 128k,256k,1M --number_ios 200 --output json",
    );
    let runs = report["runs"].as_array().unwrap();
    let interrupts = runs
        .iter()
        .map(|run| run["wait"]["interrupts"].as_u64().unwrap());
    assert_eq!(interrupts.collect::<Vec<_>>(), [200, 400, 1600]);
    let latency: Vec<_> = runs
        .iter()
        .map(|run| run["all"]["latency_ns"]["mean"].as_f64().unwrap())
        .collect();
    assert!(
        latency[0] < latency[1] && latency[1] < latency[2],
        "{latency:?}"
    );
}

#[test]
fn devices_that_are_compared_have_each_their_own_engine() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk.img");
    std::fs::write(&disk, vec![1; 1 << 20]).unwrap();
    let devices = format!("emulated:instant,size=1M+{}", disk.display());
    let runs = crate::common::runs(&format!("--device {devices} --number_ios 500"));
    let engines: Vec<_> = runs
        .iter()
        .map(|run| run["engine"].as_str().unwrap())
        .collect();
    assert_eq!(engines, ["nvme", "nvme", "nvme", "nvme", "io_uring"]);
    assert!(runs.iter().all(|run| run["all"]["ios"] == 500));
}
