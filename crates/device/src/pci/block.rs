//! The users of a disk: its partitions, and the block devices stacked on any of them.

use super::{PciError, Sysfs};

/// A disk with all block devices stacked on it.
pub(super) struct Stack {
    /// The disk first, then partitions and holders.
    pub(super) blocks: Vec<Block>,
    /// Pairs of a holder and the device that it holds.
    pub(super) holds: Vec<Hold>,
}

/// A block device of the stack.
pub(super) struct Block {
    pub(super) name: String,
    /// `major:minor`, from the attribute `dev`.
    pub(super) number: Option<String>,
}

/// A pair of block devices: `below` is held by `by`.
pub(super) struct Hold {
    pub(super) below: String,
    pub(super) by: String,
    /// The name that its owner gave it, for a device-mapper device.
    pub(super) known_as: Option<String>,
}

impl Stack {
    /// Finds the block device with this `major:minor`.
    pub(super) fn numbered(&self, number: &str) -> Option<&Block> {
        self.blocks
            .iter()
            .find(|block| block.number.as_deref() == Some(number))
    }

    /// Finds the block device with this kernel name.
    pub(super) fn named(&self, name: &str) -> Option<&Block> {
        self.blocks.iter().find(|block| block.name == name)
    }
}

impl Sysfs {
    /// Collects `disk` and everything stacked on it.
    pub(super) fn stack(&self, disk: &str) -> Result<Stack, PciError> {
        let mut stack = Stack {
            blocks: Vec::new(),
            holds: Vec::new(),
        };
        let mut next = vec![disk.to_owned()];
        while let Some(name) = next.pop() {
            if stack.named(&name).is_some() {
                continue;
            }
            next.extend(self.partitions(&name)?);
            for by in self.holders(&name)? {
                stack.holds.push(Hold {
                    below: name.clone(),
                    known_as: self.text(&self.block_path(&by).join("dm/name"))?,
                    by: by.clone(),
                });
                next.push(by);
            }
            let number = self.text(&self.block_path(&name).join("dev"))?;
            stack.blocks.push(Block { name, number });
        }
        Ok(stack)
    }

    fn block_path(&self, name: &str) -> std::path::PathBuf {
        // This directory has disks and partitions alike, unlike /sys/block.
        self.path("sys/class/block").join(name)
    }

    /// Lists the subdirectories with a partition number (Documentation/ABI/testing/sysfs-block).
    fn partitions(&self, name: &str) -> Result<Vec<String>, PciError> {
        let dir = self.block_path(name);
        let mut names = self.names(&dir)?;
        names.retain(|entry| dir.join(entry).join("partition").exists());
        Ok(names)
    }

    /// Lists the disks made of this one: device mapper, md and bcache register themselves in `holders`
    /// (`bd_link_disk_holder`, block/holder.c); a loop device over a disk does not, and reports its file instead.
    fn holders(&self, name: &str) -> Result<Vec<String>, PciError> {
        let mut holders = self.names(&self.block_path(name).join("holders"))?;
        for other in self.names(&self.path("sys/class/block"))? {
            let backing = self.block_path(&other).join("loop/backing_file");
            if let Some(file) = self.text(&backing)?
                && self.node_name(&file).as_deref() == Some(name)
            {
                holders.push(other);
            }
        }
        Ok(holders)
    }

    /// Returns the kernel's name for a path in `/dev`: `dm-0` for `/dev/mapper/home`.
    pub(super) fn node_name(&self, path: &str) -> Option<String> {
        let below = path.strip_prefix('/')?;
        if !below.starts_with("dev/") {
            return None;
        }
        let node = self.path(below);
        let node = node.canonicalize().unwrap_or(node);
        Some(node.file_name()?.to_string_lossy().into_owned())
    }
}
