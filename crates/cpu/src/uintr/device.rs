//! `/dev/joulio_uintr`, if it can be used here.

use super::{UintrError, abi};
use crate::arch::UserInterrupts;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const PATH: &str = "/dev/joulio_uintr";

/// The module's open file, which was checked.
#[derive(Debug)]
pub(super) struct Device {
    file: OwnedFd,
    info: abi::Info,
    /// User interrupts of the CPU.
    pub(super) cpu: UserInterrupts,
}

impl Device {
    /// Opens the module's file, on a CPU with the features needed.
    pub(super) fn open() -> Result<Device, UintrError> {
        let cpu = UserInterrupts::detect()?;
        let file = open(PATH, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let file = file.map_err(|errno| match errno {
            // NXIO, NODEV: the file of a module that was unloaded.
            Errno::NOENT | Errno::NXIO | Errno::NODEV => UintrError::NoModule,
            Errno::ACCESS | Errno::PERM => UintrError::Denied,
            errno => UintrError::other("open")(errno),
        })?;
        let info = abi::info(file.as_fd()).map_err(UintrError::other("info"))?;
        check(info)?;
        Ok(Device { file, info, cpu })
    }

    /// Whether the module provides test interrupts of its own.
    pub(super) fn has_source(&self) -> bool {
        self.info.flags & abi::Info::TEST_SOURCE != 0
    }
}

fn check(info: abi::Info) -> Result<(), UintrError> {
    if info.abi != abi::VERSION {
        return Err(UintrError::Version(info.abi));
    }
    match info.flags & abi::Info::HARDWARE {
        0 => Err(UintrError::Dry),
        _ => Ok(()),
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_of_another_kind_is_refused() {
        let info = |abi, flags| abi::Info { abi, flags };
        assert_eq!(check(info(2, 1)), Ok(()));
        assert_eq!(check(info(2, 1 | 4)), Ok(()));
        assert_eq!(check(info(1, 1)), Err(UintrError::Version(1)));
        assert_eq!(check(info(2, 2 | 4)), Err(UintrError::Dry));
    }
}
