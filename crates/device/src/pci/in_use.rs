//! Whether anything uses a controller's disks.
//!
//! Two kinds of looking, because neither is enough. The tables name what is
//! wrong (which mount, which swap), but miss what they do not know, like a pool
//! of ZFS. An exclusive open is answered by the kernel itself and misses nobody
//! who claimed the disk, but does not say who, and misses those who claimed
//! nothing.

use std::fmt;
use std::fs::File;
use std::io;

use super::block::Stack;
use super::mounts::{Export, Mount};
use super::{PciAddress, PciError, PciNvme, Sysfs};

/// A use of a controller's disk. Names are the kernel's (`nvme0n1p2`, `dm-0`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Use {
    /// A file system on it is mounted (proc_pid_mountinfo(5)).
    Mounted {
        /// The disk, a partition, or what was stacked on them.
        device: String,
        /// The mount point.
        on: String,
    },
    /// A swap area (proc_swaps(5)).
    Swap {
        /// The disk, a partition, or what was stacked on them.
        device: String,
    },
    /// Another block device is made of it (`holders` in `/sys/class/block`).
    Held {
        /// The disk, a partition, or what was stacked on them.
        device: String,
        /// The device above: `md0`, `dm-0`, `bcache0`, `loop0`.
        by: String,
        /// The name that its owner gave it, for a device-mapper device.
        known_as: Option<String>,
    },
    /// The kernel's NVMe target serves it (Documentation/ABI/stable/configfs-nvmet).
    Exported {
        /// The disk or the controller.
        device: String,
        /// The NQN of the subsystem that serves it.
        subsystem: String,
    },
    /// Somebody claimed it for himself, and no table says who: a mount in a
    /// container, a pool of ZFS, a program (open(2), `O_EXCL`).
    OpenedExclusively {
        /// The disk.
        device: String,
    },
    /// A process has it open, if not exclusively (proc_pid_fd(5)).
    Opened {
        /// The node: `/dev/nvme0n1`, `/dev/ng0n1`, `/dev/nvme0`.
        node: String,
        /// The process.
        pid: u32,
        /// Name of the process.
        command: String,
    },
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { device, on } => write!(f, "mounted: {device} on {on}"),
            Self::Swap { device } => write!(f, "swap on {device}"),
            Self::Held {
                device,
                by,
                known_as: None,
            } => write!(f, "{device} held by {by}"),
            Self::Held {
                device,
                by,
                known_as: Some(name),
            } => write!(f, "{device} held by {by} ({name})"),
            Self::Exported { device, subsystem } => {
                write!(f, "{device} exported by the NVMe target as {subsystem}")
            }
            Self::OpenedExclusively { device } => write!(f, "{device} opened exclusively"),
            Self::Opened { node, pid, command } => {
                write!(f, "{node} opened by process {pid} ({command})")
            }
        }
    }
}

impl Sysfs {
    /// Everything that uses a disk of the controller; empty if it is free.
    ///
    /// Wants root: what may not be looked into is an error, never "free".
    ///
    /// # Errors
    /// [`PciError::NotPermitted`] when something may not be looked into, and [`PciError`] when
    /// sysfs cannot be read.
    pub fn in_use(&self, address: PciAddress) -> Result<Vec<Use>, PciError> {
        self.uses_of(&self.controller(address)?)
    }

    pub(super) fn uses_of(&self, nvme: &PciNvme) -> Result<Vec<Use>, PciError> {
        let (mounts, swaps, exports) = (self.mounts()?, self.swaps()?, self.exports()?);
        let mut uses = Vec::new();
        let mut nodes: Vec<String> = Vec::new();
        nodes.extend(nvme.controllers.iter().map(|name| format!("/dev/{name}")));
        nodes.extend(nvme.generics.iter().map(|name| format!("/dev/{name}")));

        for disk in &nvme.namespaces {
            let stack = self.stack(disk)?;
            let known = uses.len();
            add_holds(&mut uses, &stack);
            add_mounts(&mut uses, &stack, &mounts);
            add_swaps(&mut uses, &stack, &swaps);
            if uses.len() == known && self.claim(disk)?.is_err() {
                let device = disk.clone();
                uses.push(Use::OpenedExclusively { device });
            }
            let served = |name: &str| stack.named(name).is_some();
            add_exports(&mut uses, &exports, served);
            nodes.extend(stack.blocks.iter().map(|b| format!("/dev/{}", b.name)));
        }
        let served = |name: &str| nvme.controllers.iter().any(|c| c == name);
        add_exports(&mut uses, &exports, served);
        uses.extend(self.openers(&nodes).into_iter().map(|opener| Use::Opened {
            node: opener.file,
            pid: opener.pid,
            command: opener.command,
        }));
        Ok(uses)
    }

    /// Claims every disk of the controller, so that nobody begins to use one
    /// between the last look and the unbinding.
    pub(super) fn claim_all(&self, nvme: &PciNvme) -> Result<Vec<File>, PciError> {
        let mut claims = Vec::new();
        for disk in &nvme.namespaces {
            match self.claim(disk)? {
                Ok(claim) => claims.extend(claim),
                Err(taken) => {
                    return Err(PciError::InUse {
                        address: nvme.address,
                        uses: vec![taken],
                    });
                }
            }
        }
        Ok(claims)
    }

    /// The disk opened for us alone, or the use that forbids it; no file if the
    /// disk has no node. A claim of a partition is one of the disk as well
    /// (`bd_may_claim`, block/bdev.c), so that the disk answers for both.
    fn claim(&self, disk: &str) -> Result<Result<Option<File>, Use>, PciError> {
        let node = self.path("dev").join(disk);
        match self.attributes.claim(&node) {
            Ok(file) => Ok(Ok(Some(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Ok(None)),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                let device = disk.to_owned();
                Ok(Err(Use::OpenedExclusively { device }))
            }
            Err(error) => Err(PciError::io("open", &node, error)),
        }
    }
}

fn add_holds(uses: &mut Vec<Use>, stack: &Stack) {
    uses.extend(stack.holds.iter().map(|hold| Use::Held {
        device: hold.below.clone(),
        by: hold.by.clone(),
        known_as: hold.known_as.clone(),
    }));
}

/// By number; and by source, for file systems that tell a number of their own.
fn add_mounts(uses: &mut Vec<Use>, stack: &Stack, mounts: &[Mount]) {
    for mount in mounts {
        let by_source = || mount.source.as_deref().and_then(|s| stack.named(s));
        if let Some(block) = stack.numbered(&mount.number).or_else(by_source) {
            uses.push(Use::Mounted {
                device: block.name.clone(),
                on: mount.on.clone(),
            });
        }
    }
}

fn add_swaps(uses: &mut Vec<Use>, stack: &Stack, swaps: &[String]) {
    for block in swaps.iter().filter_map(|name| stack.named(name)) {
        let device = block.name.clone();
        uses.push(Use::Swap { device });
    }
}

fn add_exports(uses: &mut Vec<Use>, exports: &[Export], served: impl Fn(&str) -> bool) {
    for export in exports.iter().filter(|export| served(&export.device)) {
        uses.push(Use::Exported {
            device: export.device.clone(),
            subsystem: export.subsystem.clone(),
        });
    }
}
