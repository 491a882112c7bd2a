//! `joulio bench` with the kernel's engines, on a file.

use crate::common::{failed, json, refused};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use tempfile::TempDir;

/// Returns a folder on a disk: /tmp may be in memory, where direct I/O is not possible.
fn room() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory")
}

/// Returns a folder with a file of 16 MiB that contains data.
fn room_with_file() -> (TempDir, String) {
    let room = room();
    let path = room.path().join("disk.img");
    let mut file = File::create(&path).expect("created");
    file.write_all(&vec![0x5a; 16 << 20]).expect("written");
    file.sync_all().expect("synced");
    let name = path.display().to_string();
    (room, name)
}

fn runs(line: &str) -> Vec<Value> {
    let report = json(&format!("bench --meter none --output json {line}"));
    report["runs"].as_array().expect("runs").clone()
}

#[test]
fn every_engine_writes_and_reads_back_what_it_wrote() {
    let (_room, file) = room_with_file();
    let runs = runs(&format!(
        "--device {file} --engine psync,libaio,io_uring --rw randrw --verify crc32c --number_ios 400 --ramp_time 0 --allow-write"
    ));
    let engines: Vec<_> = runs.iter().map(|run| &run["engine"]).collect();
    assert_eq!(engines, ["psync", "libaio", "io_uring"]);
    for run in &runs {
        assert_eq!(run["completion"]["effective"], "interrupt", "{run:#}");
        assert_eq!(run["all"]["ios"], 400);
        assert_eq!(run["all"]["errors"], 0);
        assert_eq!(run["verify"]["errors"], 0);
        assert!(run["verify"]["blocks"].as_u64() >= Some(200), "{run:#}");
        let calls = run["system_calls"].as_u64().expect("counted");
        assert!(calls >= 400, "{calls}");
        assert_eq!(run["threads"]["kernel"]["threads"], 0);
    }
}

#[test]
fn a_job_that_only_reads_verifies_what_was_written_and_writes_nothing() {
    let (room, file) = room_with_file();
    let flags = |rw: &str| {
        format!(
            "--device {file} --engine psync --rw {rw} --verify crc32c --size 1m --number_ios 256 --ramp_time 0 --allow-write"
        )
    };
    let before = std::fs::read(&file).expect("read");
    let line = format!("bench {} --meter none", flags("randread"));
    let said = failed(room.path(), &line, 1);
    assert!(said.contains("no header"), "{said}");
    assert!(
        std::fs::read(&file).expect("read") == before,
        "a verifying read wrote"
    );
    runs(&flags("write"));
    let written = std::fs::read(&file).expect("read");
    let runs = runs(&flags("randread"));
    assert!(
        std::fs::read(&file).expect("read") == written,
        "a verifying read wrote"
    );
    let [run] = runs.as_slice() else {
        panic!("{} runs", runs.len());
    };
    assert_eq!(run["all"]["errors"], 0, "{run:#}");
    assert_eq!(run["write"]["ios"], 0, "{run:#}");
    assert_eq!(run["verify"]["errors"], 0, "{run:#}");
    assert_eq!(run["verify"]["blocks"], 256, "{run:#}");
}

#[test]
fn a_thread_of_the_kernels_is_distinguished() {
    let (_room, file) = room_with_file();
    let runs = runs(&format!(
        "--device {file} --completion interrupt,sqpoll --iodepth 8 --number_ios 3000 --fixedbufs --registerfiles"
    ));
    let [interrupt, sqpoll] = runs.as_slice() else {
        panic!("two runs");
    };
    assert_eq!(interrupt["engine"], "io_uring");
    assert_eq!(sqpoll["completion"]["effective"], "sqpoll", "{sqpoll:#}");
    assert_eq!(sqpoll["threads"]["kernel"]["threads"], 1);
    let count = |path: &str| sqpoll.pointer(path).and_then(Value::as_u64).expect(path);
    // The kernel's thread submits: the job makes system calls only to yield its CPU, after 4,096 polls, and to wake
    // that thread.
    let yields = count("/wait/polls") / 4096;
    let wakes = count("/threads/kernel/voluntary_switches");
    let calls = count("/system_calls");
    assert!(calls <= yields + wakes + 10, "{calls} {yields} {wakes}");
    assert_eq!(sqpoll["all"]["ios"], 3000);
    assert!(interrupt["system_calls"].as_u64() >= Some(3000 / 8));
}

#[test]
fn what_an_engine_cannot_do_is_unavailable_and_says_why() {
    let (room, file) = room_with_file();
    let runs = runs(&format!(
        "--device {file} --engine psync,libaio --completion interrupt,sqpoll+poll,hybrid=1500ns --number_ios 50"
    ));
    for run in runs
        .iter()
        .filter(|run| run["completion"]["requested"] != "interrupt")
    {
        assert_eq!(run["completion"]["effective"], Value::Null);
        assert!(run["completion"]["reason"].is_string());
        assert_eq!(run.get("all"), None, "{run:#}");
    }
    let said = failed(
        room.path(),
        &format!(
            "bench --device {file} --engine libaio --completion poll --number_ios 50 --output json"
        ),
        1,
    );
    assert!(said.contains("no completion mode"), "{said}");
}

#[test]
fn commands_go_to_namespaces_alone() {
    let (_room, file) = room_with_file();
    let runs = runs(&format!(
        "--device {file} --engine psync,io_uring_cmd --number_ios 50"
    ));
    let completion = &runs[1]["completion"];
    assert_eq!(runs[1]["engine"], "io_uring_cmd");
    assert_eq!(completion["effective"], Value::Null);
    let reason = completion["reason"].as_str().expect("a reason");
    assert!(reason.contains("a whole NVMe namespace"), "{reason}");
}

#[test]
fn machine_counters_are_counts_or_have_a_reason() {
    let (_room, file) = room_with_file();
    for place in [file.as_str(), "emulated:instant"] {
        let runs = runs(&format!("--device {place} --number_ios 50"));
        let machine = runs[0]["machine"].as_object().expect("an object");
        for (name, value) in machine.iter().filter(|(name, _)| *name != "missing") {
            let why = &machine["missing"][name];
            assert_eq!(value.is_null(), why.is_string(), "{name}: {machine:#?}");
        }
    }
}

#[test]
fn bad_places_are_refused_and_nothing_is_changed() {
    let (room, file) = room_with_file();
    let nothing = room.path().join("nothing.img");
    File::create(&nothing).expect("created");
    let empty = nothing.display().to_string();
    for (line, want) in [
        (format!("--device {file} --rw randwrite"), "--allow-write"),
        (format!("--device {file} --engine nvme"), "joulio bind"),
        (
            format!("--device {file} --engine psync --iodepth 2"),
            "at most 1",
        ),
        (
            format!("--device {file} --engine spdk"),
            "psync, libaio, io_uring, io_uring_cmd",
        ),
        (format!("--device {file} --faults drop@1"), "--faults"),
        (format!("--device {file} --bs 1000"), "--bs"),
        (format!("--device {file} --size 1G"), "past the end"),
        (format!("--device {empty}"), "fallocate"),
        (
            "--device /dev/null".into(),
            "neither a block device nor a regular file",
        ),
        ("--device /nowhere/disk".into(), "/nowhere/disk"),
        ("--device ./nothing-here".into(), "./nothing-here"),
        (
            "--device emulated:instant --engine io_uring".into(),
            "--device /dev/nvme0n1",
        ),
        (
            format!("--device {file} --device emulated:instant --numjobs 2"),
            "--engine",
        ),
        (
            format!("--device {file} --iodepth 32768 --numjobs 200 --bs 1M"),
            "--iodepth",
        ),
    ] {
        let said = refused(room.path(), &format!("bench {line}"));
        assert!(said.contains(want), "{line}: {said}");
    }
    let said = refused(room.path(), &format!("trace --device {file}"));
    assert!(said.contains("user-space driver"), "{said}");
}
