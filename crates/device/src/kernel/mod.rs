//! A controller that the kernel drives, through its character device: `/dev/nvme0`.
//!
//! The kernel passes admin commands on unchanged, to a controller that holds somebody's data. So only those that report
//! or set power are allowed: see [`KernelNvme::admin`].

mod allowed;
mod error;
mod ioctl;

pub use error::{KernelError, Refusal};

use crate::AdminData;
use crate::pci::{PciId, Sysfs};
use joulio_nvme_spec::{Command, Status};
use rustix::fs::{FileType, Mode, OFlags, major, minor, open, stat};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Completion of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandEnd {
    /// The status of its completion.
    pub status: Status,
    /// Dword 0 of its completion.
    pub dw0: u32,
}

/// A controller that the kernel drives.
#[derive(Debug)]
pub struct KernelNvme {
    name: String,
    /// The device in sysfs.
    folder: PathBuf,
    fd: OwnedFd,
}

impl KernelNvme {
    /// Opens the character device of a controller.
    ///
    /// # Errors
    /// [`KernelError`] when there is no such device, or it is not a controller.
    pub fn open(path: &Path) -> Result<KernelNvme, KernelError> {
        let name = path.display().to_string();
        let os = |source: io::Error| KernelError::open(&name, source);
        let found = stat(path).map_err(|errno| os(errno.into()))?;
        let number = found.st_rdev;
        let folder = format!("/sys/dev/char/{}:{}", major(number), minor(number));
        let folder = PathBuf::from(folder);
        if FileType::from_raw_mode(found.st_mode) != FileType::CharacterDevice
            || !is_controller(&folder)
        {
            return Err(KernelError::NotAController { device: name });
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty()).map_err(|errno| os(errno.into()))?;
        Ok(KernelNvme { name, folder, fd })
    }

    /// Returns the path of the device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the PCI identifiers of the controller; `None` for one that is no PCI function.
    pub fn pci_id(&self) -> Option<PciId> {
        pci_id_of(&self.folder)
    }

    /// Sends one of the allowed commands: Identify; Get Log Page of the SMART and the power measurement log; Get and
    /// Set Features 02h, 0Ch and 25h, not saved. The data must be as long as the command's transfer.
    ///
    /// # Errors
    /// [`KernelError::Refused`] before anything is sent, or the kernel's error. A command that the controller fails is
    /// no error: see its status.
    pub fn admin(&self, command: &Command, data: AdminData<'_>) -> Result<CommandEnd, KernelError> {
        allowed::check(command, &data).map_err(|refusal| KernelError::Refused {
            device: self.name.clone(),
            refusal,
        })?;
        ioctl::admin(self.fd.as_fd(), command, data)
            .map_err(|source| KernelError::command(&self.name, source))
    }
}

/// Whether the device in this folder of sysfs is an NVMe controller, and no namespace.
fn is_controller(folder: &Path) -> bool {
    let link = std::fs::read_link(folder.join("subsystem"));
    link.is_ok_and(|subsystem| subsystem.ends_with("nvme"))
}

/// Reads the identifiers of the PCI function to which the device in this folder of sysfs belongs.
fn pci_id_of(folder: &Path) -> Option<PciId> {
    let (sysfs, function) = (Sysfs::default(), folder.join("device"));
    let read = |name| sysfs.id(&function.join(name)).ok();
    Some(PciId {
        vendor: read("vendor")?,
        device: read("device")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_controller_is_refused_without_being_opened() {
        let room = tempfile::tempdir().unwrap();
        let fifo = room.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        // Opening a FIFO would wait for a writer for ever.
        for path in [Path::new("/dev/null"), room.path(), &fifo] {
            let refused = KernelNvme::open(path).unwrap_err();
            assert!(
                matches!(refused, KernelError::NotAController { .. }),
                "{refused}"
            );
        }
        let missing = KernelNvme::open(&room.path().join("nvme0")).unwrap_err();
        assert!(matches!(missing, KernelError::NotThere { .. }), "{missing}");
    }

    #[test]
    fn a_controller_has_the_identifiers_of_its_pci_function() {
        let room = tempfile::tempdir().unwrap();
        let function = room.path().join("device");
        assert_eq!(pci_id_of(room.path()), None);
        std::fs::create_dir(&function).unwrap();
        std::fs::write(function.join("vendor"), "0x144d\n").unwrap();
        assert_eq!(pci_id_of(room.path()), None);
        std::fs::write(function.join("device"), "0xa822\n").unwrap();
        let found = PciId {
            vendor: 0x144d,
            device: 0xa822,
        };
        assert_eq!(pci_id_of(room.path()), Some(found));
    }
}
