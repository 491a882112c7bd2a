//! `joulio profiles measure`: measurement of a device and its profile. Rates depend on this machine and are not checked
//! here; crates/lab/tests/device_measure.rs checks them in virtual time.

use crate::common::running::wait_for_handler;
use crate::common::{begin, contents, ended, interrupt, joulio, refused, thorough};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::tempdir;

/// Flags for the shortest measurement; the tests share the CPUs with other programs.
const SHORT: &str = "--machine xeon-6230 --runtime 20ms --loops 1 --allow-busy";

fn measure(room: &Path, line: &str) -> Value {
    let line = format!("profiles measure {line} {SHORT} --output json");
    let output = joulio(&line).current_dir(room).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Collects every figure in `value`: an object with a kind.
fn figures<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(map) if map.contains_key("kind") => found.push(value),
        Value::Object(map) => map.values().for_each(|value| figures(value, found)),
        Value::Array(array) => array.iter().for_each(|value| figures(value, found)),
        _ => {}
    }
}

#[test]
fn a_device_becomes_a_profile_with_a_source_beside_each_figure() {
    let room = tempdir().unwrap();
    let device = "--device emulated:optane-900p,size=64M --bs 4k,64k";
    let report = measure(room.path(), &format!("{device} --write-profile mine.toml"));
    assert_eq!(
        (&report["engine"], &report["completion"]),
        (&"nvme".into(), &"poll".into())
    );
    // Two sizes at depth 1, and each of them deeper.
    let rates = report["rates"].as_array().unwrap();
    let at = |bytes: u64, deep: bool| {
        let found = rates.iter().filter(|rate| {
            let alone = rate["iodepth"] == 1 && rate["numjobs"] == 1;
            rate["bytes"] == bytes && alone != deep
        });
        found.count()
    };
    assert_eq!((at(4096, false), at(65_536, false)), (1, 1));
    assert!(at(4096, true) >= 1 && at(65_536, true) >= 1, "{report:#}");
    let mut all = Vec::new();
    figures(&report["profile"], &mut all);
    for figure in &all {
        assert!(!figure["source"].as_str().unwrap().is_empty(), "{figure:#}");
    }
    // A measured figure names its row as the source, another figure the base profile.
    let service = &report["profile"]["service"];
    let rows = [
        &service["read"][0]["us"],
        &service["read"][1]["us"],
        &service["parallelism"],
        &service["read_bandwidth"],
    ];
    // On a busy machine more depth may not be faster, and then no bandwidth is found.
    for figure in rows.into_iter().filter(|row| !row.is_null()) {
        let source = figure["source"].as_str().unwrap();
        assert!(source.starts_with("mine.csv:"), "{figure:#}");
    }
    let capacity = &report["profile"]["capacity_bytes"];
    assert_eq!(
        (&capacity["kind"], capacity["value"].as_f64()),
        (&"measured".into(), Some(67_108_864.0))
    );
    let csv = fs::read_to_string(room.path().join("mine.csv")).unwrap();
    assert!(
        csv.contains("# No writes") && !csv.contains("randwrite"),
        "{csv}"
    );
    assert!(service["write"].as_array().unwrap().iter().all(|point| {
        point["us"]["source"]
            .as_str()
            .unwrap()
            .starts_with("as samsung-980-pro: ")
    }));
    // The command in the file fits the same figures from its rates.
    let command = csv
        .lines()
        .find_map(|line| line.strip_prefix("# Fitted by: joulio "));
    let again = command
        .unwrap()
        .replace("--write-profile mine.toml", "--output json");
    let output = joulio(&again).current_dir(&room).output().unwrap();
    let again: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(&again["profile"]["service"], service);
    // Every command that takes a profile accepts it.
    for line in [
        "profiles mine.toml",
        "bench --device emulated:./mine.toml,size=64M --number_ios 50 --completion poll",
        "bench --twin --machine xeon-6230 --device emulated:./mine.toml --number_ios 50",
    ] {
        joulio(line).current_dir(&room).assert().success();
    }
}

#[test]
fn writes_are_measured_by_word_alone() {
    if !thorough() {
        return;
    }
    let room = tempdir().unwrap();
    let disk = room.path().join("disk.img");
    let data: Vec<u8> = (0..16_u32 << 20).map(|byte| (byte % 251) as u8).collect();
    fs::write(&disk, &data).unwrap();
    let device = "--device emulated:optane-900p,file=disk.img --bs 4k";
    measure(room.path(), &format!("{device} --write-profile reads.toml"));
    assert!(fs::read(&disk).unwrap() == data, "reads changed the data");
    let report = measure(
        room.path(),
        &format!("{device} --write-profile both.toml --allow-write"),
    );
    assert!(fs::read(&disk).unwrap() != data, "writes changed nothing");
    let write = &report["profile"]["service"]["write"];
    assert_eq!(write.as_array().unwrap().len(), 1);
    let source = write[0]["us"]["source"].as_str().unwrap();
    assert!(source.starts_with("both.csv:"), "{source}");
}

#[test]
fn the_kernel_s_path_measures_a_file_and_leaves_it_as_it_is() {
    if !thorough() {
        return;
    }
    // In the build folder, where O_DIRECT is supported.
    let room = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let disk = room.path().join("disk.img");
    let data = vec![7_u8; 4 << 20];
    fs::write(&disk, &data).unwrap();
    let line = format!(
        "profiles measure --device ./disk.img --ioengine psync --bs 4k --write-profile p.toml {SHORT}"
    );
    let output = joulio(&line).current_dir(&room).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // A file may be faster than the named machine; its rates are kept then too.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    assert!(
        output.status.success() || said.contains("rates are in p.csv"),
        "{said}"
    );
    let csv = fs::read_to_string(room.path().join("p.csv")).unwrap();
    assert!(csv.contains(" by psync "), "{csv}");
    let rows: Vec<_> = csv
        .lines()
        .filter(|line| line.starts_with("randread,"))
        .collect();
    assert!(rows[0].starts_with("randread,4k,1,1,"), "{csv}");
    // With one I/O per job, depth comes from the number of jobs.
    assert!(rows[1].starts_with("randread,4k,1,4,"), "{csv}");
    assert!(fs::read(&disk).unwrap() == data);
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is_done() {
    let room = tempdir().unwrap();
    fs::write(room.path().join("there.csv"), "mine").unwrap();
    let device = "profiles measure --device emulated:optane-900p";
    for (line, want) in [
        (
            format!("{device} --write-profile mine.txt"),
            "must end in .toml",
        ),
        (
            format!("{device} --write-profile there.toml"),
            "there.csv exists already",
        ),
        (
            format!("{device} --write-profile m.toml --bs 1000"),
            "--bs: 1000: give a multiple",
        ),
        (
            format!("{device} --write-profile m.toml --bs 4k,1M"),
            "transfers at most 131072 B",
        ),
        (
            format!("{device} --write-profile m.toml --ioengine io_uring"),
            "takes a block device or a file",
        ),
        (
            format!("{device} --write-profile m.toml --base nothing"),
            "unknown",
        ),
        (
            format!("{device} --write-profile m.toml --loops 0"),
            "1..=100",
        ),
        (
            format!("{device} --write-profile m.toml --runtime 0"),
            "above zero",
        ),
        (
            "profiles measure --device nowhere --write-profile m.toml".into(),
            "not a device",
        ),
        ("profiles measure --write-profile m.toml".into(), "--device"),
        (device.into(), "--write-profile"),
    ] {
        let said = refused(room.path(), &line);
        assert!(said.contains(want), "{line}: no '{want}' in: {said}");
    }
}

#[test]
fn a_signal_ends_it_and_nothing_is_written() {
    let room = tempdir().unwrap();
    let out = room.path().join("mine.toml");
    let line = format!(
        "profiles measure --device emulated:optane-900p,size=64M --runtime 100 --write-profile {}",
        out.display()
    );
    let child = begin(&line);
    wait_for_handler(child.id(), Signal::INT);
    interrupt(&child);
    let output = ended(child);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("nothing is written"), "{said}");
    assert!(contents(room.path()).is_empty());
}
