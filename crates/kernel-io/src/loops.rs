//! Loop devices, which make a disk out of a file or another disk. Writing to that file or disk damages the data of
//! the loop device, and the kernel does not prevent it.

mod status;

use crate::Blocks;
use rustix::fs::{FileType, major, minor, stat};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// File or device on which a loop device is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backing {
    /// A file: its file system and inode.
    File(u64, u64),
    /// Major and minor number of a disk or a partition.
    Block(u32, u32),
}

impl Backing {
    /// Returns the identity of `path`; `None` if it does not exist, or is neither a file nor a block device.
    fn of(path: &Path) -> Option<Backing> {
        let found = stat(path).ok()?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => Some(Backing::File(found.st_dev, found.st_ino)),
            FileType::BlockDevice => {
                Some(Backing::Block(major(found.st_rdev), minor(found.st_rdev)))
            }
            _ => None,
        }
    }
}

impl Blocks {
    /// Returns a loop device that shares the data of `path`, a file or a block device: it is set up on `path`, or
    /// both are on the same file or device. The result is never `path` itself.
    pub fn loop_sharing(&self, path: &Path) -> Option<String> {
        let mut others = self.loops();
        let mut shared = vec![Backing::of(path)?];
        // The backing of `path`, if `path` is a loop device, and the backing of that.
        while let Some(Backing::Block(major, minor)) = shared.last().copied() {
            let name = self.disk(major, minor).map(|disk| disk.name);
            let own: Vec<_> = others
                .extract_if(.., |(loop_name, _)| Some(&*loop_name) == name.as_ref())
                .collect();
            if own.is_empty() {
                break;
            }
            shared.extend(own.into_iter().map(|(_, backing)| backing));
        }
        let overlaps = |backing: &Backing| shared.iter().any(|one| self.overlap(*one, *backing));
        let found = others.iter().find(|(_, backing)| overlaps(backing));
        found.map(|(name, _)| name.clone())
    }

    /// Returns every loop device with its backing, found through the path in /sys, and through the kernel's device
    /// and inode numbers, which are right even if that path was moved or belongs to another mount namespace.
    fn loops(&self) -> Vec<(String, Backing)> {
        let entries = fs::read_dir(self.root().join("sys/block"));
        let entries = entries.into_iter().flatten().flatten();
        let backings = |entry: fs::DirEntry| {
            let text = fs::read(entry.path().join("loop/backing_file")).ok()?;
            // A name may contain any bytes except zero.
            let path = Path::new(OsStr::from_bytes(text.strip_suffix(b"\n").unwrap_or(&text)));
            let name = entry.file_name().into_string().ok()?;
            let by_number = status::backing(&self.root().join("dev").join(&name));
            let by_path = Backing::of(path).filter(|backing| Some(*backing) != by_number);
            let backings = by_number.into_iter().chain(by_path);
            Some(backings.map(move |backing| (name.clone(), backing)))
        };
        let mut loops: Vec<_> = entries.filter_map(backings).flatten().collect();
        loops.sort_by(|one, other| one.0.cmp(&other.0));
        loops
    }

    /// Returns true if two backings are the same file or device, or a disk and a partition of it.
    fn overlap(&self, one: Backing, other: Backing) -> bool {
        let (Backing::Block(major, minor), Backing::Block(other_major, other_minor)) = (one, other)
        else {
            return one == other;
        };
        let part = |major, minor| self.is_partition(major, minor);
        one == other
            || (!part(major, minor) || !part(other_major, other_minor))
                && self.disk(major, minor).is_some_and(|disk| {
                    let other = self.disk(other_major, other_minor);
                    other.is_some_and(|other| other.name == disk.name)
                })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a tree of files with loop devices on these paths.
    fn tree(loops: &[(&str, &Path)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, backing) in loops {
            let folder = root.path().join("sys/block").join(name).join("loop");
            fs::create_dir_all(&folder).unwrap();
            let text = [backing.as_os_str().as_bytes(), b"\n"].concat();
            fs::write(folder.join("backing_file"), text).unwrap();
        }
        fs::create_dir_all(root.path().join("sys/block/sda")).unwrap();
        root
    }

    #[test]
    fn a_file_under_a_loop_device_is_found_by_any_of_its_names() {
        let room = tempfile::tempdir().unwrap();
        let names = ["file", "link", "other"].map(|name| room.path().join(name));
        fs::write(&names[0], "data").unwrap();
        fs::write(&names[2], "data").unwrap();
        fs::hard_link(&names[0], &names[1]).unwrap();
        let gone = room.path().join("gone (deleted)");
        let root = tree(&[("loop3", &names[0]), ("loop4", &gone)]);
        let blocks = Blocks::at(root.path());
        assert_eq!(blocks.loop_sharing(&names[0]).as_deref(), Some("loop3"));
        assert_eq!(blocks.loop_sharing(&names[1]).as_deref(), Some("loop3"));
        assert_eq!(blocks.loop_sharing(&names[2]), None);
        assert_eq!(blocks.loop_sharing(&gone), None);
        assert_eq!(blocks.loop_sharing(room.path()), None);
    }

    #[test]
    fn a_file_whose_name_is_no_text_is_found_too() {
        let room = tempfile::tempdir().unwrap();
        let names: [&[u8]; 2] = [b"\xff.img", b"line\n"];
        let files = names.map(|name| room.path().join(OsStr::from_bytes(name)));
        for file in &files {
            fs::write(file, "data").unwrap();
        }
        let root = tree(&[("loop1", &files[0]), ("loop2", &files[1])]);
        let blocks = Blocks::at(root.path());
        assert_eq!(blocks.loop_sharing(&files[0]).as_deref(), Some("loop1"));
        assert_eq!(blocks.loop_sharing(&files[1]).as_deref(), Some("loop2"));
    }

    #[test]
    fn a_disk_and_its_partition_overlap_and_two_partitions_do_not() {
        use std::os::unix::fs::symlink;
        let root = tree(&[]);
        let disk = root.path().join("sys/devices/vda");
        for part in ["vda1", "vda2"] {
            fs::create_dir_all(disk.join(part)).unwrap();
            fs::write(disk.join(part).join("partition"), "1\n").unwrap();
        }
        let numbers = root.path().join("sys/dev/block");
        fs::create_dir_all(&numbers).unwrap();
        for (number, target) in [("8:0", ""), ("8:1", "vda1"), ("8:2", "vda2")] {
            symlink(disk.join(target), numbers.join(number)).unwrap();
        }
        let blocks = Blocks::at(root.path());
        let overlap = |one, other| blocks.overlap(Backing::Block(8, one), Backing::Block(8, other));
        assert!(overlap(0, 1) && overlap(2, 0) && overlap(1, 1));
        assert!(!overlap(1, 2));
        assert!(!blocks.overlap(Backing::Block(8, 1), Backing::File(8, 1)));
    }
}
