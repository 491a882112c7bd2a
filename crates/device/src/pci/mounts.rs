//! The kernel's tables of mounts, swaps and exported namespaces.

use std::fs;

use super::{PciError, Sysfs};

/// A line of the mount table.
pub(super) struct Mount {
    /// `major:minor` of the file system; btrfs and others report one of their own.
    pub(super) number: String,
    /// Mount point.
    pub(super) on: String,
    /// The kernel's name of its source, if that is a device.
    pub(super) source: Option<String>,
}

/// A namespace or controller that the kernel's NVMe target serves to others.
pub(super) struct Export {
    /// The kernel's name of the served device.
    pub(super) device: String,
    /// The subsystem that serves it.
    pub(super) subsystem: String,
}

impl Sysfs {
    /// Reads the mounts of the machine: those of process 1, or of this process where the former may not be read.
    /// Source: proc_pid_mountinfo(5). A file system that is mounted in another namespace only still claims its disk.
    pub(super) fn mounts(&self) -> Result<Vec<Mount>, PciError> {
        let own = self.path("proc/self/mountinfo");
        let table = fs::read(self.path("proc/1/mountinfo"))
            .or_else(|_| fs::read(&own))
            .map_err(|error| PciError::io("read", &own, error))?;
        let table = String::from_utf8_lossy(&table);
        Ok(table.lines().filter_map(|l| self.mount(l)).collect())
    }

    fn mount(&self, line: &str) -> Option<Mount> {
        // id parent major:minor root point options [tags] - type source options
        let (front, back) = line.split_once(" - ")?;
        let mut front = front.split(' ').skip(2);
        let number = front.next()?.to_owned();
        let on = unescape(front.nth(1)?);
        let source = back.split(' ').nth(1)?;
        Some(Mount {
            number,
            on,
            source: self.node_name(&unescape(source)),
        })
    }

    /// Reads the kernel's names of the devices with swap areas. A swap *file* is found by the mount of its file system.
    /// Source: proc_swaps(5).
    pub(super) fn swaps(&self) -> Result<Vec<String>, PciError> {
        let table = self.text(&self.path("proc/swaps"))?.unwrap_or_default();
        let paths = table.lines().skip(1).filter_map(|l| l.split(' ').next());
        // A single column, padded with spaces or a tab.
        let paths = paths.filter_map(|p| p.split('\t').next());
        Ok(paths
            .filter_map(|path| self.node_name(unescape(path).trim_end_matches(" (deleted)")))
            .collect())
    }

    /// Lists the disks that the kernel's NVMe target serves. The target opens them without a claim, so that an
    /// exclusive open does not find it. Source: Documentation/ABI/stable/configfs-nvmet.
    pub(super) fn exports(&self) -> Result<Vec<Export>, PciError> {
        let mut exports = Vec::new();
        let subsystems = self.path("sys/kernel/config/nvmet/subsystems");
        for subsystem in self.names(&subsystems)? {
            let dir = subsystems.join(&subsystem);
            let namespaces = dir.join("namespaces");
            let mut served = vec![dir.join("passthru")];
            served.extend(self.names(&namespaces)?.iter().map(|n| namespaces.join(n)));
            for entry in served {
                let enabled = self.text(&entry.join("enable"))?.as_deref() == Some("1");
                let path = self.text(&entry.join("device_path"))?.unwrap_or_default();
                if let (true, Some(device)) = (enabled, self.node_name(&path)) {
                    exports.push(Export {
                        device,
                        subsystem: subsystem.clone(),
                    });
                }
            }
        }
        Ok(exports)
    }
}

/// Decodes `\040` and the like, which these tables write for blanks and backslashes.
fn unescape(field: &str) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        match after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] if byte == b'\\' => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = tail;
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn octal_escapes_are_read_and_other_backslashes_kept() {
        assert_eq!(unescape(r"/my\040disk\134x"), r"/my disk\x");
        assert_eq!(unescape(r"a\9\04"), r"a\9\04");
    }
}
