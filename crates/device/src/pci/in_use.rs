//! Uses of a controller's disks: mounts, swap, and any others that have one open.
//!
//! There are two kinds of search, because neither is enough. The tables name the use (which mount, which swap), but
//! miss uses that they do not list, like a pool of ZFS. An exclusive open finds every claim of the disk, since the
//! kernel itself decides, but does not name the claimant, and misses users without a claim.

use std::fs::File;
use std::io;

use super::block::Stack;
use super::mounts::{Export, Mount};
use super::{PciAddress, PciError, PciNvme, Sysfs, Use};

impl Sysfs {
    /// Returns everything that uses a disk of the controller; nothing if it is free.
    ///
    /// Requires root: a file that may not be inspected is an error, never "free".
    ///
    /// # Errors
    /// [`PciError::NotPermitted`] when a file may not be inspected, and [`PciError`] when sysfs cannot be read.
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
    /// between the last check and the unbinding.
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

    /// Opens the disk exclusively, or returns the use that forbids it; no file if the disk has no node. A claim of a
    /// partition is one of the disk as well (`bd_may_claim`, block/bdev.c), so that claiming the disk covers both.
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

/// Adds mounts by device number; and by source, for file systems that report a number of their own.
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
