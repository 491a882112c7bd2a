//! Block devices and their settings from /sys/dev/block and /sys/block (Documentation/ABI/stable/sysfs-block).

use std::fs;
use std::path::{Path, PathBuf};

/// The block devices in /sys.
#[derive(Clone, Debug)]
pub struct Blocks {
    root: PathBuf,
}

/// A whole disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Name in /sys/block.
    pub name: String,
    /// Controllers, by the prefix of the names of their interrupts: `nvme0`, `virtio1`. A namespace that several
    /// controllers reach has more than one; a device without interrupts of its own (loop, md, device mapper, zram)
    /// has none.
    pub controllers: Vec<String>,
    /// Settings of the queue.
    pub queue: Queue,
}

/// Settings in the folder queue/ of a disk; `None` if the kernel has no such file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Logical block size in bytes.
    pub logical_block: Option<u32>,
    /// Longest I/O in bytes that is not split.
    pub max_io: Option<u32>,
    /// Longest I/O in bytes that the hardware transfers at once.
    pub max_transfer: Option<u32>,
    /// Longest discard in bytes that is not split; 0: the disk does not support discards.
    pub max_discard: Option<u64>,
    /// True if there are queues for polling.
    pub io_poll: Option<bool>,
    /// Microseconds of sleep before polling: -1 means no sleep, 0 a sleep according to statistics. Up to Linux 6.3.
    pub io_poll_delay: Option<i64>,
}

impl Blocks {
    /// Returns the block devices below `root`: `/`, or a captured file tree.
    pub fn at(root: impl Into<PathBuf>) -> Blocks {
        Blocks { root: root.into() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns true if the device `major:minor` is a partition of a disk.
    pub(crate) fn is_partition(&self, major: u32, minor: u32) -> bool {
        let device = self.root.join(format!("sys/dev/block/{major}:{minor}"));
        device.join("partition").exists()
    }

    /// Returns true if the device `major:minor`, a disk or a partition, is read-only.
    pub(crate) fn is_read_only(&self, major: u32, minor: u32) -> bool {
        let file = self.root.join(format!("sys/dev/block/{major}:{minor}/ro"));
        fs::read_to_string(file).is_ok_and(|text| text.trim() == "1")
    }

    /// Returns the whole disk of the device `major:minor`, which is the disk or a partition of it; `None` for
    /// devices that are not in /sys, such as the anonymous devices of btrfs files.
    pub fn disk(&self, major: u32, minor: u32) -> Option<Disk> {
        let device = self.root.join(format!("sys/dev/block/{major}:{minor}"));
        let device = fs::canonicalize(device).ok()?;
        let whole = if device.join("partition").exists() {
            device.parent()?
        } else {
            &device
        };
        Some(Disk {
            name: file_name(whole)?,
            controllers: controllers(whole),
            queue: queue(&whole.join("queue")),
        })
    }
}

/// Returns the controllers of a disk: its `device` is a controller, or a subsystem of several.
fn controllers(disk: &Path) -> Vec<String> {
    let Ok(device) = fs::canonicalize(disk.join("device")) else {
        return Vec::new();
    };
    let Some(name) = file_name(&device) else {
        return Vec::new();
    };
    if !name.starts_with("nvme-subsys") {
        return vec![name];
    }
    let entries = fs::read_dir(&device).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_nvme_controller(name))
        .collect();
    names.sort();
    names
}

fn is_nvme_controller(name: &str) -> bool {
    let number = name.strip_prefix("nvme");
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn queue(folder: &Path) -> Queue {
    let number = |name: &str| -> Option<i64> {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        text.trim().parse().ok()
    };
    let unsigned = |name| number(name).and_then(|n| u32::try_from(n).ok());
    Queue {
        logical_block: unsigned("logical_block_size"),
        max_io: unsigned("max_sectors_kb").and_then(|kb| kb.checked_mul(1024)),
        max_transfer: unsigned("max_hw_sectors_kb").and_then(|kb| kb.checked_mul(1024)),
        max_discard: number("discard_max_bytes").and_then(|n| u64::try_from(n).ok()),
        io_poll: number("io_poll").map(|n| n != 0),
        io_poll_delay: number("io_poll_delay"),
    }
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(root: &Path, path: &str, to: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
    }

    #[test]
    fn a_partition_belongs_to_its_disk_and_controller() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        let disk = "sys/devices/pci0/nvme/nvme3/nvme3n1";
        write(at, &format!("{disk}/nvme3n1p2/partition"), "2\n");
        write(at, &format!("{disk}/queue/io_poll"), "1\n");
        write(at, &format!("{disk}/queue/io_poll_delay"), "-1\n");
        write(at, &format!("{disk}/queue/logical_block_size"), "4096\n");
        write(at, &format!("{disk}/queue/max_sectors_kb"), "128\n");
        write(at, &format!("{disk}/queue/max_hw_sectors_kb"), "512\n");
        write(at, &format!("{disk}/queue/discard_max_bytes"), "0\n");
        link(at, &format!("{disk}/device"), "../../nvme3");
        link(
            at,
            "sys/dev/block/259:2",
            "../../devices/pci0/nvme/nvme3/nvme3n1/nvme3n1p2",
        );
        let disk = Blocks::at(at).disk(259, 2).unwrap();
        assert_eq!(disk.name, "nvme3n1");
        assert_eq!(disk.controllers, ["nvme3"]);
        let queue = Queue {
            logical_block: Some(4096),
            max_io: Some(131072),
            max_transfer: Some(524288),
            max_discard: Some(0),
            io_poll: Some(true),
            io_poll_delay: Some(-1),
        };
        assert_eq!(disk.queue, queue);
        assert_eq!(Blocks::at(at).disk(1, 1), None);
    }

    #[test]
    fn a_shared_namespace_has_all_controllers_of_its_subsystem() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        let subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
        write(at, &format!("{subsystem}/nvme0n1/queue/io_poll"), "x\n");
        for name in ["nvme1", "nvme0", "nvme0c1n1", "nvmeof"] {
            write(at, &format!("{subsystem}/{name}/x"), "");
        }
        link(
            at,
            &format!("{subsystem}/nvme0n1/device"),
            "../../nvme-subsys0",
        );
        link(
            at,
            "sys/dev/block/259:0",
            "../../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1",
        );
        let disk = Blocks::at(at).disk(259, 0).unwrap();
        assert_eq!(disk.controllers, ["nvme0", "nvme1"]);
        assert_eq!(disk.queue, Queue::default());
    }
}
