//! Trims and flushes with the kernel's engines, on a loop device and on a file: remaining data, the device's counts,
//! and refused requests.

use crate::common::loop_device::Loop;
use crate::common::{contents, joulio, refused, refused_with, runs};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

const ENGINES: [(&str, u32); 3] = [("psync", 1), ("libaio", 8), ("io_uring", 8)];

/// Returns the numbers in /sys/block/loopN/stat (Documentation/block/stat.rst).
fn stat(device: &Loop) -> Vec<u64> {
    let name = device.device.trim_start_matches("/dev/");
    let text = fs::read_to_string(format!("/sys/block/{name}/stat")).expect("read");
    let numbers = text.split_whitespace().map(|number| number.parse());
    numbers.collect::<Result<_, _>>().expect("numbers")
}

const DISCARDED_SECTORS: usize = 13;
const FLUSHES: usize = 15;

fn run(device: &str, flags: &str) -> Value {
    let line = format!("--device {device} --ramp_time 0 --meter none --allow-write {flags}");
    let mut runs = runs(&line);
    assert_eq!(runs.len(), 1, "{flags}");
    let run = runs.remove(0);
    assert_eq!(run["first_error"], Value::Null, "{flags}");
    run
}

#[test]
fn a_block_device_is_trimmed_and_flushed_as_often_as_was_said() {
    for (engine, iodepth) in ENGINES {
        let Some(disk) = Loop::new() else {
            return;
        };
        let before = stat(&disk);
        let flags = format!("--engine {engine} --rw trim --iodepth {iodepth}");
        let flags = format!("{flags} --offset 1M --size 1M --number_ios 256");
        let trimmed = run(&disk.device, &flags);
        let counts = ["trim", "all", "write"].map(|side| trimmed[side]["ios"].clone());
        assert_eq!(counts, [256, 256, 0], "{engine}");
        let after = stat(&disk);
        let sectors = after[DISCARDED_SECTORS] - before[DISCARDED_SECTORS];
        assert_eq!(sectors, (1 << 20) / 512, "{engine}");
        let image = fs::read(disk.room.path().join("disk.img")).expect("read");
        let whole = |bytes: &[u8], byte: u8| bytes.iter().all(|one| *one == byte);
        assert!(whole(&image[1 << 20..2 << 20], 0), "{engine}");
        assert!(
            whole(&image[..1 << 20], 7) && whole(&image[2 << 20..], 7),
            "{engine}"
        );

        let before = stat(&disk);
        let flags = format!(
            "--engine {engine} --rw randwrite --number_ios 40 --fsync 10 --fdatasync 4 --end_fsync"
        );
        let written = run(&disk.device, &flags);
        // Flushes after 4, 8, 10, 12, 16, 20, 24, 28, 30, 32 and 36 writes, and at the end.
        assert_eq!(written["sync"]["ios"], 12, "{engine}");
        assert_eq!(
            (&written["write"]["ios"], &written["all"]["ios"]),
            (&40.into(), &40.into())
        );
        assert!(written["sync"]["latency_ns"]["mean"].as_f64() > Some(0.0));
        let flushes = stat(&disk)[FLUSHES] - before[FLUSHES];
        // The block layer merges flushes that are in flight at the same time.
        let least = if iodepth == 1 { 12 } else { 1 };
        assert!((least..=12).contains(&flushes), "{engine}: {flushes}");
    }
}

#[test]
fn what_is_written_after_its_trim_is_verified() {
    let room = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let file = room.path().join("disk.img");
    for (engine, iodepth) in ENGINES {
        fs::write(&file, vec![7; 1 << 20]).expect("written");
        let flags = format!("--engine {engine} --rw trimwrite --iodepth {iodepth} --size 512k");
        let flags = format!("{flags} --number_ios 128 --verify crc32c --fsync 16");
        let run = run(&file.display().to_string(), &flags);
        let counts = ["trim", "write", "all"].map(|side| run[side]["ios"].clone());
        assert_eq!(counts, [128, 128, 256], "{engine}");
        let verified = &run["verify"];
        assert_eq!(
            (&verified["blocks"], &verified["errors"]),
            (&128.into(), &0.into())
        );
        let bytes = fs::read(&file).expect("read");
        assert!(bytes[512 << 10..].iter().all(|byte| *byte == 7), "{engine}");
    }
}

#[test]
fn a_table_shows_trims_and_flushes_apart() {
    let line = "bench --device emulated:instant,size=1M --rw trimwrite --number_ios 64 --fsync 8 \
                --completion poll --ramp_time 0 --quiet --meter none";
    let output = joulio(line).output().expect("output");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for side in [" write ", " trim ", " sync "] {
        let lines = text.lines().filter(|line| line.contains(side));
        assert_eq!(lines.count(), 1, "{side}: {text}");
    }
}

#[test]
fn trims_are_refused_where_data_would_be_lost_or_nobody_can() {
    let room = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    fs::write(room.path().join("disk.img"), vec![7; 1 << 20]).expect("written");
    for rw in ["trim", "randtrim", "trimwrite", "randtrimwrite"] {
        for device in ["./disk.img", "emulated:instant,file=disk.img"] {
            let said = refused(room.path(), &format!("bench --device {device} --rw {rw}"));
            assert!(said.contains("--allow-write"), "{said}");
        }
    }
    assert_eq!(contents(room.path()).len(), 1);
    let emulated = "bench --device emulated:instant --number_ios 10";
    refused_with(
        &format!("{emulated} --rw trim --verify crc32c"),
        &["--verify", "trimwrite"],
    );
    refused_with(
        &format!("{emulated} --rw trim --phases 1k:1s"),
        &["--phases", "--rw"],
    );
    refused_with(
        &format!("{emulated} --twin --rw trim"),
        &["--rw", "not modelled"],
    );
    refused_with(
        &format!("{emulated} --twin --rw write --fsync 2"),
        &["--fsync", "not modelled"],
    );
    refused_with(&format!("{emulated} --rw discard"), &["randtrimwrite"]);
}
