//! Errors of a controller that the kernel drives.

use std::io;

/// Why a controller of the kernel's does not do what was requested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The device node does not exist.
    #[error("{device}: no such device; `joulio list` shows what this machine has")]
    NotThere {
        /// Path of the device.
        device: String,
    },
    /// Something else.
    #[error("{device} is not an NVMe controller: name one as /dev/nvme0, not a namespace of it")]
    NotAController {
        /// Path of the device.
        device: String,
    },
    /// The permission is missing.
    #[error("{device}: permission denied; admin commands take root, or CAP_SYS_ADMIN")]
    Permission {
        /// Path of the device.
        device: String,
    },
    /// A controller that is being removed, or has failed.
    #[error("{device}: the controller was removed")]
    Removed {
        /// Path of the device.
        device: String,
    },
    /// The command is not one of those that may be run.
    #[error(
        "{device}: {refusal}: only power and interrupt coalescing are reached through the kernel's driver"
    )]
    Refused {
        /// Path of the device.
        device: String,
        /// Why.
        refusal: Refusal,
    },
    /// The kernel did not run a command.
    #[error("{device}: {source}")]
    Os {
        /// Path of the device.
        device: String,
        /// Why.
        source: io::Error,
    },
}

/// Why a command is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An opcode, a log page or a feature that is not on the list.
    #[error("this command is not allowed")]
    Command,
    /// Something is set in it that changes what it does: fuse, PSDT, save, select, an offset.
    #[error("this variant of the command is not allowed")]
    Variant,
    /// The data is not as long as the command says, or goes in the other direction.
    #[error("the data does not fit the command")]
    Data,
}

impl KernelError {
    pub(super) fn open(device: &str, source: io::Error) -> KernelError {
        let device = device.into();
        match source.kind() {
            io::ErrorKind::NotFound => KernelError::NotThere { device },
            io::ErrorKind::PermissionDenied => KernelError::Permission { device },
            _ => KernelError::Os { device, source },
        }
    }

    pub(super) fn command(device: &str, source: io::Error) -> KernelError {
        let device = device.into();
        match source.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => KernelError::Permission { device },
            Some(libc::ENODEV | libc::ENXIO) => KernelError::Removed { device },
            _ => KernelError::Os { device, source },
        }
    }
}
