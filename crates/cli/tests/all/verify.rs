//! Data is read back as it was written, and wrong data is detected.

use crate::common::{failed, joulio, runs, short_ramp, thorough_or};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::tempdir;

const KINDS: [&str; 6] = ["write", "randwrite", "randrw", "rw", "read", "randread"];

/// First bytes of every block that was written with `--verify`; its number follows.
const MAGIC: &[u8; 8] = b"joulio\x01\xa5";

/// Returns the runs of `joulio bench` with `flags`.
fn of_each_mode(flags: &str) -> Vec<Value> {
    runs(&format!("{flags} {}", short_ramp()))
}

fn assert_all_right(runs: &[Value], what: &str) {
    assert_eq!(runs.len(), 4, "{what}: a run for each completion mode");
    for run in runs {
        let verify = &run["verify"];
        assert_eq!(verify["errors"], 0, "{what}: {verify}");
        assert!(
            verify["blocks"].as_u64().is_some_and(|n| n > 0),
            "{what}: {verify}"
        );
        assert!(verify["first_error"].is_null(), "{what}: {verify}");
        assert_eq!(run["all"]["errors"], 0, "{what}");
    }
}

/// Asserts that the header of every block of `bs` bytes in `file` names the block's place.
fn assert_headers(file: &Path, bs: usize) {
    let data = fs::read(file).expect("the file is there");
    assert_eq!(data.len() % bs, 0);
    for (number, block) in data.chunks(bs).enumerate() {
        assert_eq!(&block[..8], MAGIC, "block {number} of {}", file.display());
        let says = u64::from_le_bytes(block[8..16].try_into().expect("eight bytes"));
        assert_eq!(says, number as u64, "{}", file.display());
    }
}

#[test]
fn no_block_is_wrong_in_any_direction_in_any_completion_mode_with_any_block_size() {
    let ios = thorough_or(500, 200);
    for lba in [512, 4096] {
        for rw in KINDS {
            let flags = format!(
                "--device emulated:instant,size=1M,lba={lba} --rw {rw} --number_ios {ios} \
                 --iodepth 8 --verify=crc32c"
            );
            assert_all_right(&of_each_mode(&flags), &flags);
        }
    }
}

#[test]
fn no_block_is_wrong_at_the_smallest_and_the_largest_size() {
    for (bs, size) in [("512", "64k"), ("128k", "2M")] {
        for rw in ["randrw", "randread"] {
            let flags = format!(
                "--device emulated:optane-900p,size={size} --rw {rw} --bs {bs} --number_ios 300 \
                 --iodepth 8 --numjobs 2 --verify=crc32c"
            );
            assert_all_right(&of_each_mode(&flags), &flags);
        }
    }
}

#[test]
fn what_was_written_stands_in_the_file() {
    for lba in [512, 4096] {
        let room = tempdir().expect("a temporary directory");
        let disk = room.path().join("disk");
        let flags = format!(
            "--device emulated:instant,file={},size=1M,lba={lba} --rw write --number_ios 256 \
             --iodepth 4 --verify=crc32c",
            disk.display()
        );
        assert_all_right(&of_each_mode(&flags), &flags);
        assert_headers(&disk, 4096);
    }
}

#[test]
fn the_layout_of_a_read_stands_in_the_file() {
    let room = tempdir().expect("a temporary directory");
    let disk = room.path().join("disk");
    let flags = format!(
        "--device emulated:instant,file={},size=64k --rw randread --bs 512 --number_ios 100 \
         --numjobs 3 --verify=crc32c",
        disk.display()
    );
    assert_all_right(&of_each_mode(&flags), &flags);
    assert_headers(&disk, 512);
}

#[test]
fn without_verify_nothing_is_checked_and_reads_write_nothing() {
    let room = tempdir().expect("a temporary directory");
    let disk = room.path().join("disk");
    let flags = format!(
        "--device emulated:instant,file={},size=64k --number_ios 100",
        disk.display()
    );
    for run in of_each_mode(&flags) {
        assert!(run["verify"].is_null());
    }
    assert_eq!(fs::read(&disk).expect("read"), vec![0; 64 << 10]);
}

#[test]
fn jobs_on_one_device_share_its_blocks() {
    let room = tempdir().expect("a temporary directory");
    let disk = room.path().join("disk");
    let flags = format!(
        "--device emulated:instant,file={},size=1M --rw write --number_ios 128 --numjobs 2 \
         --verify=crc32c",
        disk.display()
    );
    let runs = of_each_mode(&flags);
    assert_all_right(&runs, &flags);
    assert_headers(&disk, 4096);
    for run in &runs {
        assert_eq!(run["verify"]["blocks"], 256);
    }
}

#[test]
fn each_device_gets_the_blocks_of_its_own_jobs() {
    for jobs in [2, 4] {
        let room = tempdir().expect("a temporary directory");
        let disks = ["one", "two"].map(|name| room.path().join(name));
        let flags = format!(
            "--device emulated:instant,file={},size=1M --device emulated:instant,file={},size=1M \
             --rw write --number_ios {} --numjobs {jobs} --verify=crc32c",
            disks[0].display(),
            disks[1].display(),
            512 / jobs
        );
        assert_all_right(&of_each_mode(&flags), &flags);
        disks.iter().for_each(|disk| assert_headers(disk, 4096));
    }
}

#[test]
fn a_flipped_byte_is_found_by_a_later_run_that_may_not_write() {
    let room = tempdir().expect("a temporary directory");
    let disk = room.path().join("disk");
    let write = "bench --device emulated:instant,file=disk,size=1M --rw write --number_ios 256 \
                 --verify=crc32c";
    let read = "bench --device emulated:instant,file=disk --rw read --number_ios 256 \
                --completion poll --verify=crc32c";
    joulio(write).current_dir(room.path()).assert().success();
    let written = fs::read(&disk).expect("read");
    joulio(read).current_dir(room.path()).assert().success();
    assert!(
        fs::read(&disk).expect("read") == written,
        "a verifying read wrote"
    );

    // Changes a byte of the magic, of the block's number, and of the data.
    for (at, problem) in [
        (0, "no header"),
        (8, "holds the data of"),
        (2000, "CRC-32C"),
    ] {
        let mut corrupt = written.clone();
        corrupt[77 * 4096 + at] ^= 1;
        fs::write(&disk, &corrupt).expect("write");
        let said = failed(room.path(), read, 1);
        assert!(
            said.contains("block 77:") && said.contains(problem),
            "{said}"
        );
        assert!(
            fs::read(&disk).expect("read") == corrupt,
            "a verifying read wrote"
        );
    }
}

#[test]
fn blocks_that_were_never_written_are_found() {
    let room = tempdir().expect("a temporary directory");
    fs::write(room.path().join("disk"), [0x5a; 1 << 16]).expect("write");
    let read = "bench --device emulated:instant,file=disk --rw read --number_ios 16 \
                --completion poll --verify=crc32c";
    let said = failed(room.path(), read, 1);
    assert!(
        said.contains("16 wrong block(s)") && said.contains("no header"),
        "{said}"
    );
}

#[test]
fn data_may_be_overwritten_by_whoever_says_so() {
    let room = tempdir().expect("a temporary directory");
    let disk = room.path().join("disk");
    fs::write(&disk, [0x5a; 1 << 16]).expect("write");
    let flags = format!(
        "--device emulated:instant,file={} --rw write --number_ios 16 --allow-write \
         --verify=crc32c",
        disk.display()
    );
    assert_all_right(&of_each_mode(&flags), &flags);
    assert_headers(&disk, 4096);
}

#[test]
fn nothing_is_written_outside_of_offset_and_size() {
    let room = tempfile::TempDir::new().expect("a folder");
    let file = room.path().join("disk.img");
    let device = format!("emulated:instant,file={},size=1M", file.display());
    let line = format!(
        "bench --device {device} --rw randwrite --random_distribution zipf:1.2 --offset 512k --size 64k --iodepth 4 \
         --completion poll --number_ios 500 --ramp_time 0 --verify crc32c --allow-write --meter none --output json"
    );
    crate::common::joulio(&line).assert().success();
    let bytes = std::fs::read(&file).expect("the device's file");
    let written = |range: std::ops::Range<usize>| bytes[range].iter().any(|byte| *byte != 0);
    assert!(written(512 << 10..576 << 10));
    assert!(!written(0..512 << 10) && !written(576 << 10..1 << 20));
}
