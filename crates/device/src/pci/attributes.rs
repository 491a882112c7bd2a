//! The interface through which this module changes the machine: everything but reading goes through these two
//! functions.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Reads and writes of sysfs: the real ones ([`Live`]), or a test's.
pub(super) trait Attributes: Send + Sync {
    /// Writes a value to a sysfs attribute, in one write as sysfs requires (Documentation/filesystems/sysfs.rst,
    /// "Attributes").
    fn write(&self, path: &Path, value: &[u8]) -> io::Result<()>;

    /// Opens a block device exclusively: `EBUSY` if the kernel itself or a process has claimed it or one of its
    /// partitions (open(2), `O_EXCL`).
    fn claim(&self, node: &Path) -> io::Result<File>;
}

/// The running kernel.
pub(super) struct Live;

impl Attributes for Live {
    fn write(&self, path: &Path, value: &[u8]) -> io::Result<()> {
        // Never O_CREAT: a missing attribute has to be ENOENT.
        OpenOptions::new().write(true).open(path)?.write_all(value)
    }

    fn claim(&self, node: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::open(node, flags, Mode::empty())?);
        // On any other file O_EXCL has no effect, and success would prove nothing.
        if !file.metadata()?.file_type().is_block_device() {
            return Err(io::Error::other("it is not a block device"));
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_attribute_is_not_created() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("driver_override");
        let error = Live.write(&path, b"vfio-pci").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!path.exists());
    }

    #[test]
    fn a_regular_file_cannot_be_claimed_as_a_disk() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Live.claim(file.path()).unwrap_err();
        assert!(error.to_string().contains("not a block device"));
    }
}
