//! A file system on a block device, for a database.
//!
//! Each program gets a mount namespace of its own, so that the file system is unmounted when the program ends, for
//! whatever reason.

use super::{MakeDatabase, unfit};
use crate::external::error::ExternalError;
use crate::external::program::Program;
use crate::open::open_kernel;
use joulio_workload::{EngineName, Stop, Target};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Size of the smallest device in bytes: xfs needs at least 300 MiB.
const MIN_DEVICE_BYTES: u64 = 512 << 20;

/// Script that mounts and then executes the program: `sh -c MOUNT joulio TYPE DEVICE FOLDER PROGRAM...`.
const MOUNT: &str = r#"mount -t "$1" -o noatime -- "$2" "$3" && shift 3 && exec "$@""#;

/// A file system that has been created and is not mounted.
#[derive(Debug)]
pub struct FileSystem {
    device: PathBuf,
    kind: &'static str,
    /// Mount point.
    folder: TempDir,
    unshare: Program,
}

/// Returns an error unless the user allows the data of the device `name` to be lost, and this process may mount.
///
/// # Errors
/// Writing is not allowed, or this process may not mount.
pub fn check_permission(name: &str, allow_write: bool) -> Result<(), ExternalError> {
    if !allow_write {
        return Err(wrong(format!(
            "it makes a file system on {name}: the data there will be lost; say --allow-write if that is meant"
        )));
    }
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err(wrong("making and mounting a file system takes root")),
    }
}

fn wrong(problem: impl Into<String>) -> ExternalError {
    unfit(EngineName::DbBench, problem)
}

impl FileSystem {
    /// Creates a file system on `device`, whose data is lost; returns it and its size in bytes.
    ///
    /// # Errors
    /// Writing is not allowed, the device is not a block device, is in use or too small, or a program fails.
    pub fn make(
        device: &Path,
        make: &MakeDatabase<'_>,
        progress: impl Fn(),
    ) -> Result<(FileSystem, u64), ExternalError> {
        let name = device.display();
        check_permission(&name.to_string(), make.allow_write)?;
        let size = size_of(device)?;
        if size < MIN_DEVICE_BYTES {
            let (has, min) = (size >> 20, MIN_DEVICE_BYTES >> 20);
            return Err(wrong(format!(
                "{name} has {has} MiB: a file system with a database takes {min}"
            )));
        }
        let unshare = Program::find("unshare", "it is in the package util-linux")?;
        let system = |source| ExternalError::System {
            program: "db_bench",
            source,
        };
        let file_system = FileSystem {
            device: device.into(),
            kind: make_file_system(device, make.stop, progress)?,
            folder: TempDir::with_prefix("joulio-db-").map_err(system)?,
            unshare,
        };
        Ok((file_system, size))
    }

    /// Returns the name of the file system.
    pub fn name(&self) -> &'static str {
        self.kind
    }

    /// Returns the program and arguments that start `db_bench` with this file system mounted.
    pub fn command(&self, db_bench: &Program) -> (&Program, Vec<OsString>) {
        let folder = self.folder.path();
        let mut db = OsString::from("--db=");
        db.push(folder.join("db"));
        let words = [
            "--mount".into(),
            "--".into(),
            "/bin/sh".into(),
            "-c".into(),
            MOUNT.into(),
            "joulio".into(),
            OsString::from(self.kind),
            self.device.clone().into(),
            folder.into(),
            db_bench.path().into(),
            db,
        ];
        (&self.unshare, words.into())
    }
}

/// Returns the size of the block device in bytes, after checking that nothing else uses it.
fn size_of(device: &Path) -> Result<u64, ExternalError> {
    let target = open_kernel(device, true)?;
    let info = target.info();
    let is_device = fs::metadata(device).is_ok_and(|found| found.file_type().is_block_device());
    match is_device {
        true => Ok(info.size),
        false => Err(wrong(format!(
            "{} is no block device: losetup --find --show makes one of a file",
            device.display()
        ))),
    }
}

/// Creates the paper's file system if its tools are installed, otherwise the usual one; returns its name.
fn make_file_system(
    device: &Path,
    stop: &Stop,
    progress: impl Fn(),
) -> Result<&'static str, ExternalError> {
    let xfs = Program::find("mkfs.xfs", "").map(|program| (program, "xfs", ["-q", "-f"]));
    let (program, name, force) = xfs.or_else(|_| {
        let remedy = "Debian's package xfsprogs has mkfs.xfs, e2fsprogs mkfs.ext4";
        let program = Program::find("mkfs.ext4", remedy)?;
        Ok::<_, ExternalError>((program, "ext4", ["-q", "-F"]))
    })?;
    let words = force.map(OsString::from).into_iter();
    let words: Vec<_> = words.chain([device.into()]).collect();
    program.run(&words, stop, progress)?;
    Ok(name)
}
