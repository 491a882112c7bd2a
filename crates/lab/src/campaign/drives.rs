//! Drives behind the names of a campaign's devices: results are continued on the same drives alone.

use crate::device_name::{DeviceKind, DeviceName};
use crate::target_name::TargetName;
use joulio_kernel_io::Blocks;
use rustix::fs::{major, minor};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Key of the drives in the line of a session.
pub(super) const KEY: &str = "drives";

/// Files in a disk's folder that distinguish it from other disks.
const IDENTITY: [&str; 7] = [
    "device/model",
    "device/serial",
    "serial",
    "wwid",
    "device/wwid",
    "loop/backing_file",
    "dm/uuid",
];

/// Descriptions of drives by the names of their devices.
pub(super) type Drives = BTreeMap<String, String>;

/// A device whose name was another drive's in an earlier session.
#[derive(Debug)]
pub(super) struct Changed {
    /// Name of the device.
    pub(super) name: String,
    /// Description of the earlier drive.
    pub(super) there: String,
    /// Description of the drive here.
    pub(super) here: String,
}

/// Describes the drives behind `targets`, except those of which nothing can be read without opening them.
pub(super) fn describe(targets: &[TargetName]) -> Drives {
    let described = targets.iter().filter_map(|target| {
        let drive = match target {
            TargetName::Kernel(path) => of_path(path),
            TargetName::Own(DeviceName {
                kind: DeviceKind::Emulated(emulated),
                ..
            }) => of_path(emulated.file()?),
            TargetName::Own(_) => None,
        };
        Some((target.text(), drive?))
    });
    described.collect()
}

/// Returns the first device of `here` that was another drive when it was last used in one of `sessions`.
pub(super) fn changed(here: &Drives, sessions: &[Value]) -> Option<Changed> {
    here.iter().find_map(|(name, here)| {
        let mut earlier = sessions.iter().rev();
        let there = earlier.find_map(|session| session[KEY][name].as_str())?;
        (there != here).then(|| Changed {
            name: name.clone(),
            there: there.to_owned(),
            here: here.clone(),
        })
    })
}

fn of_path(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let is_disk = found.file_type().is_block_device();
    let device = if is_disk { found.rdev() } else { found.dev() };
    let (major, minor) = (major(device), minor(device));
    let bytes = match is_disk {
        true => {
            let sectors = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/size"));
            sectors.ok()?.trim().parse::<u64>().ok()?.checked_mul(512)?
        }
        false => found.len(),
    };
    let disk = Blocks::at("/").disk(major, minor);
    let words = disk.map(|disk| of_disk(&Path::new("/sys/block").join(disk.name)));
    let mut words = words.unwrap_or_default();
    words.push(format!("{bytes} bytes"));
    Some(words.join(", "))
}

/// Returns what distinguishes the disk with the folder `folder` in /sys/block.
fn of_disk(folder: &Path) -> Vec<String> {
    let words = IDENTITY.iter().filter_map(|file| {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_drive_is_told_from_others_by_what_the_kernel_knows_of_it() {
        let room = tempfile::tempdir().unwrap();
        assert!(of_disk(room.path()).is_empty());
        for folder in ["device", "loop"] {
            fs::create_dir(room.path().join(folder)).unwrap();
        }
        for (file, text) in [
            ("device/model", "A drive     \n"),
            ("device/serial", "\n"),
            ("wwid", "eui.0025\n"),
            ("loop/backing_file", "/a/disk.img\n"),
        ] {
            fs::write(room.path().join(file), text).unwrap();
        }
        let known = of_disk(room.path()).join(", ");
        assert_eq!(known, "A drive, eui.0025, /a/disk.img");
    }

    #[test]
    fn the_last_session_with_a_device_decides() {
        let drives = |drive: &str| Drives::from([("/dev/x".to_owned(), drive.to_owned())]);
        let line = |drive: &str| json!({ KEY: drives(drive) });
        let others = [json!({ "idle": {} }), json!({ KEY: { "/dev/y": "c" } })];
        assert!(changed(&drives("a"), &others).is_none());
        let sessions = [&[line("a"), line("b")][..], &others].concat();
        assert!(changed(&drives("b"), &sessions).is_none());
        let found = changed(&drives("a"), &sessions).unwrap();
        let Changed { name, there, here } = found;
        assert_eq!([name, there, here], ["/dev/x", "b", "a"]);
    }
}
