//! The file system of a file: /proc/self/mountinfo (Documentation/filesystems/proc.rst 3.5).

use super::known::Known;
use crate::tree::Tree;
use rustix::fs::{major, minor};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// File system that a file is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSystem {
    /// The file.
    pub file: PathBuf,
    /// The file system's type: `ext4`.
    pub kind: Known<String>,
    /// Device or server that it is mounted from.
    pub source: Known<String>,
    /// Mount options, then the file system's own.
    pub options: Known<String>,
}

impl FileSystem {
    /// Returns the file system of `file` on the device `device`, as stat(2) numbers it.
    pub(super) fn of(tree: &Tree, file: &Path, device: u64) -> FileSystem {
        let text = tree.text("proc/self/mountinfo");
        let text = text.map_err(|error| format!("/proc/self/mountinfo: {error}"));
        let number = format!("{}:{}", major(device), minor(device));
        let found = text.and_then(|text| {
            let found = text.lines().filter_map(parse).find(|m| m.device == number);
            found.ok_or_else(|| {
                format!("no mount of device {number}: its file system makes up device numbers")
            })
        });
        let read = |part: fn(&Mount) -> &String| -> Known<String> {
            found.as_ref().map(|mount| part(mount).clone()).into()
        };
        FileSystem {
            file: file.into(),
            kind: read(|mount| &mount.kind),
            source: read(|mount| &mount.source),
            options: read(|mount| &mount.options),
        }
    }
}

struct Mount {
    device: String,
    kind: String,
    source: String,
    options: String,
}

/// Parses `36 35 98:0 /root /mount rw,noatime shared:1 - ext4 /dev/sda rw,errors=continue`.
fn parse(line: &str) -> Option<Mount> {
    let (mount, own) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(2);
    let device = mount.next()?.into();
    let options = mount.nth(2)?;
    let mut own = own.split(' ');
    Some(Mount {
        device,
        kind: own.next()?.into(),
        source: own.next()?.into(),
        options: format!("{options};{}", own.next().unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mount_is_found_by_its_device() {
        let line = "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = parse(line).unwrap();
        let found = [mount.device, mount.kind, mount.source, mount.options];
        assert_eq!(
            found,
            ["98:0", "ext3", "/dev/root", "rw,noatime;rw,errors=continue"]
        );
    }

    proptest! {
        #[test]
        fn no_line_panics(line in ".{0,40}( - )?.{0,20}") {
            let _ = parse(&line);
        }
    }
}
