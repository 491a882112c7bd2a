//! Stacks of block devices: an I/O of the upper one is also an I/O of the lower.

use crate::Disks;
use std::fs;
use std::path::Path;

impl Disks {
    /// Returns the block devices directly below `name`: those of a device mapper or RAID device (`slaves` in
    /// /sys/block), or the paths of a multipath NVMe namespace. The file of a loop device is not included.
    pub fn beneath(&self, name: &str) -> Vec<String> {
        let mut beneath = names(&self.block(name).join("slaves"));
        let paths = names(&self.blocks());
        beneath.extend(paths.into_iter().filter(|path| is_path_of(path, name)));
        beneath.sort();
        beneath
    }

    /// Returns the disk of the partition `name`; `None` if it is not a partition.
    pub fn disk_of(&self, name: &str) -> Option<String> {
        let partition = name.replace('/', "!");
        let number = |disk: &String| self.block(disk).join(&partition).join("partition").exists();
        names(&self.blocks()).into_iter().find(number)
    }

    /// Returns true if `name` is a drive, or looks like one to a guest: it has a `device` in /sys, unlike loop
    /// devices, device mapper, RAID and memory disks.
    pub fn is_drive(&self, name: &str) -> bool {
        self.block(name).join("device").exists()
    }

    /// Returns the model name of the drive `name`; `None` if it has none, such as virtio's.
    pub fn model(&self, name: &str) -> Option<String> {
        let text = fs::read(self.block(name).join("device/model")).ok()?;
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// Returns true if `name` may be a rotating disk: the kernel does not report it as non-rotational. Hypervisors
    /// often report their drives as rotating, whatever is behind them.
    pub fn may_rotate(&self, name: &str) -> bool {
        let text = fs::read_to_string(self.block(name).join("queue/rotational"));
        !text.is_ok_and(|text| text.trim() == "0")
    }

    /// Returns true if `name` is a loop device, whose I/Os are also those of a file.
    pub fn is_loop(&self, name: &str) -> bool {
        self.block(name).join("loop").is_dir()
    }

    /// Returns true if the NVMe controller `controller` (nvme0) reaches `name`, alone or among others.
    pub fn is_of(&self, name: &str, controller: &str) -> bool {
        let device = self.block(name).join("device");
        // With multipath, `device` is the subsystem, which contains its controllers.
        last(&device).is_some_and(|last| last == controller)
            || device.join(controller).symlink_metadata().is_ok()
    }
}

/// Returns true if `path`, such as `nvme0c1n2`, is a path of `name`, such as `nvme0n2` (nvme_mpath_set_disk_name in
/// the kernel's drivers/nvme).
fn is_path_of(path: &str, name: &str) -> bool {
    let (Some((path, of)), Some((subsystem, namespace))) = (split(path), split(name)) else {
        return false;
    };
    let subsystem_of_path = path.split_once('c').map(|(before, _)| before);
    of == namespace && subsystem_of_path == Some(subsystem)
}

/// Splits `nvme0n2` into `0` and `2`.
fn split(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("nvme")?.split_once('n')
}

/// Returns the names in a folder; none if it does not exist.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // Slashes in names are `!` in sysfs.
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().replace('!', "/");
    entries.map(name).collect()
}

fn last(link: &Path) -> Option<String> {
    let target = fs::read_link(link).ok()?;
    Some(target.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn tree(folders: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for folder in folders {
            fs::create_dir_all(root.path().join("sys").join(folder)).unwrap();
        }
        root
    }

    #[test]
    fn a_mapped_device_stands_on_its_slaves() {
        let root = tree(&[
            "block/dm-0/slaves/sda",
            "block/dm-0/slaves/cciss!c0d0",
            "block/sda/slaves",
            "block/loop3/loop",
        ]);
        let disks = Disks::at(root.path());
        assert_eq!(disks.beneath("dm-0"), ["cciss/c0d0", "sda"]);
        assert!(disks.beneath("sda").is_empty());
        assert!(disks.beneath("nothing").is_empty());
        assert!(disks.is_loop("loop3") && !disks.is_loop("sda"));
    }

    #[test]
    fn a_partition_is_of_its_disk_and_a_disk_of_none() {
        let root = tree(&["block/nvme0n1/nvme0n1p2", "block/cciss!c0d0/cciss!c0d0p1"]);
        for path in ["nvme0n1/nvme0n1p2", "cciss!c0d0/cciss!c0d0p1"] {
            let file = root.path().join("sys/block").join(path).join("partition");
            fs::write(file, "1\n").unwrap();
        }
        let disks = Disks::at(root.path());
        assert_eq!(disks.disk_of("nvme0n1p2").as_deref(), Some("nvme0n1"));
        assert_eq!(disks.disk_of("cciss/c0d0p1").as_deref(), Some("cciss/c0d0"));
        for name in ["nvme0n1", "nvme0n1p3", "queue", ""] {
            assert_eq!(disks.disk_of(name), None, "{name}");
        }
    }

    #[test]
    fn a_namespace_with_several_paths_stands_on_them() {
        let root = tree(&["block/nvme1n2", "block/nvme1c0n2", "block/nvme1c0n3"]);
        let disks = Disks::at(root.path());
        assert_eq!(disks.beneath("nvme1n2"), ["nvme1c0n2"]);
        assert!(disks.beneath("nvme1c0n2").is_empty());
        assert!(!is_path_of("nvme11c0n2", "nvme1n2"));
    }

    #[test]
    fn a_namespace_is_its_controllers_also_through_a_subsystem() {
        let root = tree(&[
            "class/nvme/nvme0",
            "class/nvme-subsystem/nvme-subsys1/nvme3",
            "block/nvme0n1",
            "block/nvme1n1",
        ]);
        let link = |name: &str, target: &str| {
            symlink(
                target,
                root.path().join("sys/block").join(name).join("device"),
            )
            .unwrap();
        };
        link("nvme0n1", "../../class/nvme/nvme0");
        link("nvme1n1", "../../class/nvme-subsystem/nvme-subsys1");
        let disks = Disks::at(root.path());
        assert!(disks.is_of("nvme0n1", "nvme0") && !disks.is_of("nvme0n1", "nvme3"));
        assert!(disks.is_of("nvme1n1", "nvme3") && !disks.is_of("nvme1n1", "nvme0"));
    }

    #[test]
    fn a_drive_is_called_what_its_device_says() {
        let root = tree(&[
            "block/nvme0n1/device",
            "block/nvme0n1/queue",
            "block/vda/device",
            "block/dm-0",
        ]);
        let block = root.path().join("sys/block");
        fs::write(
            block.join("nvme0n1/device/model"),
            "INTEL SSDPED1D280GA  \n",
        )
        .unwrap();
        fs::write(block.join("nvme0n1/queue/rotational"), "0\n").unwrap();
        let disks = Disks::at(root.path());
        assert_eq!(
            disks.model("nvme0n1").as_deref(),
            Some("INTEL SSDPED1D280GA")
        );
        assert_eq!(disks.model("vda"), None);
        let are = ["nvme0n1", "vda", "dm-0"].map(|name| disks.is_drive(name));
        assert_eq!(are, [true, true, false]);
        assert!(disks.may_rotate("vda") && !disks.may_rotate("nvme0n1"));
    }
}
