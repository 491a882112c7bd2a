//! State of a machine on which results depend: stored with them, so that they can be understood and repeated.

mod cpu;
mod disk;
mod files;
mod known;
mod mounts;

pub use cpu::{Cpu, IdleStateSetting, Vulnerability};
pub use disk::{DiskInterrupt, DiskSettings};
pub use known::Known;
pub use mounts::FileSystem;

use crate::tree::Tree;
use joulio_kernel_io::{Blocks, Disk};
use rustix::fs::{FileType, major, minor, stat};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// State of a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// Release of the kernel: `6.1.0-18-cloud-amd64`.
    pub kernel: Known<String>,
    /// CPUs and how they idle.
    pub cpu: Cpu,
    /// Disks that are used.
    pub disks: Vec<DiskSettings>,
    /// File systems of the targets that are files.
    pub files: Vec<FileSystem>,
}

impl Machine {
    /// Reads the state of the system whose file tree begins at `root`: `/`, or a captured one. `targets` are block
    /// devices and files; others, and missing ones, are left out.
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
            kernel: files::read(&tree, "proc/sys/kernel/osrelease"),
            cpu: Cpu::read(&root),
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
