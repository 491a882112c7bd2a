//! What of a machine a result depends on: written beside it, so that it can be understood and run
//! again.

mod cpu;
mod disk;
mod files;
mod mounts;
mod throttle;
mod told;

pub use cpu::{Cpu, IdleStateSetting, Vulnerability};
pub use disk::{DiskSettings, Line};
pub use mounts::FileSystem;
pub use throttle::{NoThrottles, Throttled, Throttles};
pub use told::Told;

use crate::knobs::Tree;
use crate::{Blocks, Disk};
use rustix::fs::{FileType, major, minor, stat};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A machine, as it is now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// The kernel's release: `6.1.0-18-cloud-amd64`.
    pub kernel: Told<String>,
    /// Its CPUs.
    pub cpu: Cpu,
    /// The disks that are used.
    pub disks: Vec<DiskSettings>,
    /// Of each target that is a file: the file system that it is on.
    pub files: Vec<FileSystem>,
}

impl Machine {
    /// That of the system whose file tree begins at `root`: `/`, or a captured one. `targets` are
    /// block devices and files; those that are neither, or are not there, are left out.
    pub fn read(root: impl Into<PathBuf>, targets: &[&Path]) -> Machine {
        let root = root.into();
        let tree = Tree::at(&root);
        let blocks = Blocks::at(&root);
        let mut disks: Vec<Disk> = Vec::new();
        let mut files = Vec::new();
        for target in targets {
            let Ok(found) = stat(*target) else { continue };
            let device = match FileType::from_raw_mode(found.st_mode) {
                FileType::BlockDevice => found.st_rdev,
                FileType::RegularFile => {
                    files.push(FileSystem::of(&tree, target, found.st_dev));
                    found.st_dev
                }
                _ => continue,
            };
            let disk = blocks.disk(major(device), minor(device));
            disks.extend(disk.filter(|disk| !disks.contains(disk)));
        }
        Machine {
            kernel: files::told(&tree, "proc/sys/kernel/osrelease"),
            cpu: Cpu::read(&tree),
            disks: disks
                .iter()
                .map(|disk| DiskSettings::read(&root, disk))
                .collect(),
            files,
        }
    }
}

#[cfg(test)]
mod tests;
