//! Opening block devices and files: their properties, and the reasons for refusals.

mod common;

use common::{BLOCK, BLOCKS, Claim, Scratch, of_every_engine, one, request};
use joulio_kernel_io::{Access, DirectFile, DirectFileError, FileKind, Interrupts, KernelEngine};
use joulio_units::Operation;
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

#[test]
fn a_file_says_what_it_is() {
    let scratch = Scratch::new();
    let file = scratch.open(Access::Read);
    assert_eq!(file.kind(), FileKind::Regular);
    assert_eq!(file.size(), BLOCKS * u64::from(BLOCK));
    assert!(file.logical_block().is_power_of_two());
    assert_eq!(file.path(), scratch.path);
}

#[test]
fn what_is_no_file_or_device_is_refused_in_one_line() {
    let refused = |path: &str, access| {
        let error = DirectFile::open(path, access).unwrap_err();
        assert!(!error.to_string().contains('\n'));
        error
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    assert!(matches!(
        refused(folder, Access::Read),
        DirectFileError::Kind { .. }
    ));
    assert!(matches!(
        refused("/dev/null", Access::Write),
        DirectFileError::Kind { .. }
    ));
    assert!(matches!(
        refused("/nowhere", Access::Read),
        DirectFileError::Open { .. }
    ));
    let empty = format!("{folder}/empty");
    File::create(&empty).unwrap();
    assert!(matches!(
        refused(&empty, Access::Read),
        DirectFileError::Empty { .. } | DirectFileError::NoDirect { .. }
    ));
    // procfs does not support direct I/O.
    assert!(matches!(
        refused("/proc/version", Access::Read),
        DirectFileError::NoDirect { .. }
    ));
}

/// A loop device on a scratch file; `None` if loop devices cannot be created.
struct Loop {
    scratch: Scratch,
    path: PathBuf,
}

impl Loop {
    fn new() -> Option<Loop> {
        let scratch = Scratch::new();
        let made = Command::new("losetup")
            .args(["-f", "--show", "--direct-io=on", "-b", "4096"])
            .arg(&scratch.path)
            .output();
        match made {
            Ok(output) if output.status.success() => Some(Loop {
                path: String::from_utf8(output.stdout).unwrap().trim().into(),
                scratch,
            }),
            other => {
                eprintln!("no loop device here: {other:?}");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.path).status();
    }
}

struct ABlockDeviceIsRead;

impl Claim for ABlockDeviceIsRead {
    fn of(&self, mut engine: impl KernelEngine, name: &str, _: usize) {
        let done = one(&mut engine, request(Operation::Write, 2, 4));
        assert_eq!(done.outcome, Ok(()), "{name}");
        let done = one(&mut engine, request(Operation::Read, BLOCKS - 1, 5));
        assert_eq!((done.tag, done.outcome), (5, Ok(())), "{name}");
    }
}

#[test]
fn a_loop_device_is_a_block_device_that_one_at_a_time_writes() {
    let Some(device) = Loop::new() else { return };
    let file = Arc::new(DirectFile::open(&device.path, Access::Write).unwrap());
    assert_eq!(file.kind(), FileKind::Block);
    assert_eq!(file.size(), BLOCKS * u64::from(BLOCK));
    assert_eq!(file.logical_block(), BLOCK);
    let disk = file.disk().unwrap();
    assert_eq!(PathBuf::from("/dev").join(&disk.name), device.path);
    assert_eq!(disk.queue.logical_block, Some(BLOCK));
    assert_eq!(Interrupts::read("/").unwrap().of_disk(disk), None);
    let second = DirectFile::open(&device.path, Access::Write).unwrap_err();
    assert!(matches!(second, DirectFileError::InUse { .. }), "{second}");
    DirectFile::open(&device.path, Access::Read).unwrap();
    of_every_engine(&file, &ABlockDeviceIsRead);
}

#[test]
fn a_file_under_a_loop_device_is_not_written_though_it_was_moved() {
    let Some(device) = Loop::new() else { return };
    // The loop device's path does not exist any more.
    let folder = device.scratch.path.parent().unwrap();
    let (hidden, moved) = (folder.join("hidden"), folder.join("hidden/moved"));
    std::fs::create_dir(&hidden).unwrap();
    std::fs::hard_link(&device.scratch.path, &moved).unwrap();
    std::fs::remove_file(&device.scratch.path).unwrap();
    let refused = DirectFile::open(&moved, Access::Write).unwrap_err();
    assert!(
        matches!(refused, DirectFileError::UnderLoop { .. }),
        "{refused}"
    );
    DirectFile::open(&moved, Access::Read).unwrap();
}
