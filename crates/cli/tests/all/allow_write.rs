//! Tests of `--allow-write`: data that another process uses is protected even with it.

use crate::common::{failed, refused, wait_for};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const WRITE: &str = "--rw randwrite --allow-write --number_ios 50 --meter none";

/// Returns a folder on a disk, with a file of 1 MiB that contains data.
fn room() -> TempDir {
    let room = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    fs::write(room.path().join("disk.img"), vec![0x5a; 1 << 20]).expect("written");
    room
}

/// Returns the file with a lock, as another joulio would hold it.
fn locked(room: &Path, operation: FlockOperation) -> File {
    let file = File::open(room.join("disk.img")).expect("opened");
    flock(&file, operation).expect("locked");
    file
}

/// A loop device on the file, detached when it is dropped.
struct Loop(String);

impl Loop {
    fn new(room: &Path) -> Option<Loop> {
        let made = Command::new("losetup")
            .args(["--find", "--show", "disk.img"])
            .current_dir(room)
            .output();
        match made.ok().filter(|made| made.status.success()) {
            Some(made) => Some(Loop(String::from_utf8_lossy(&made.stdout).trim().into())),
            None => {
                eprintln!("not here: a loop device needs root and losetup");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
fn a_file_under_a_loop_device_is_not_written_to_by_any_engine() {
    let room = room();
    let Some(disk) = Loop::new(room.path()) else {
        return;
    };
    for device in ["./disk.img", "emulated:instant,file=disk.img"] {
        let said = refused(room.path(), &format!("bench --device {device} {WRITE}"));
        assert!(
            said.contains(&disk.0) && said.contains("losetup -d"),
            "{said}"
        );
    }
    let line = "serve --device emulated:instant,file=disk.img --socket s";
    let said = refused(room.path(), line);
    assert!(said.contains(&disk.0), "{said}");
    // Reading is allowed.
    let line = "bench --device ./disk.img --number_ios 50 --meter none";
    crate::common::joulio(line)
        .current_dir(room.path())
        .assert()
        .success();
    // Writing to the loop device itself is allowed too.
    let line = format!("bench --device {} {WRITE}", disk.0);
    crate::common::joulio(&line)
        .current_dir(room.path())
        .assert()
        .success();
}

#[test]
fn a_file_that_another_joulio_uses_is_not_written_to() {
    for operation in [FlockOperation::LockShared, FlockOperation::LockExclusive] {
        let room = room();
        let _other = locked(room.path(), operation);
        let said = refused(room.path(), &format!("bench --device ./disk.img {WRITE}"));
        assert!(said.contains("another joulio"), "{said}");
    }
}

#[test]
fn whoever_writes_to_a_file_has_it_alone_and_readers_share_it() {
    let room = room();
    for (line, lock, free) in [
        (WRITE, FlockOperation::NonBlockingLockShared, false),
        ("", FlockOperation::NonBlockingLockExclusive, false),
        ("", FlockOperation::NonBlockingLockShared, true),
    ] {
        let line = format!("bench --device ./disk.img {line} --runtime 600 --ramp_time 0");
        let line = line.replace("--number_ios 50", "");
        let child = crate::common::program()
            .args(line.split_whitespace())
            .current_dir(room.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn();
        let mut child = child.expect("it begins");
        // The lock may be shared or exclusive: "1: FLOCK  ADVISORY  WRITE 708 ..." (proc_locks(5)).
        let id = child.id().to_string();
        let locks = || fs::read_to_string("/proc/locks").expect("read");
        let its = |line: &str| line.contains("FLOCK") && line.split_whitespace().any(|w| w == id);
        wait_for("lock", || locks().lines().any(its).then_some(()));
        let file = File::open(room.path().join("disk.img")).expect("opened");
        let had = flock(&file, lock).is_ok();
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert_eq!(had, free, "{line}");
    }
}

#[test]
fn strange_data_beside_a_writer_is_said_to_be_its() {
    let room = room();
    let read =
        "bench --device ./disk.img --rw randread --verify=crc32c --number_ios 20 --meter none";
    let said = failed(room.path(), read, 1);
    assert!(!said.contains("another joulio"), "{said}");
    let _other = locked(room.path(), FlockOperation::LockExclusive);
    let said = failed(room.path(), read, 1);
    assert!(
        said.contains("another joulio") && said.contains(" is writing this file"),
        "{said}"
    );
}
