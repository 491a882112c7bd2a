//! Errors of a controller that the kernel drives.

use std::io;

/// Reason why a controller that the kernel drives does not do what was requested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The device node does not exist.
    #[error("{device}: no such device; `joulio list` shows what this machine has")]
    NotThere {
        /// Path of the device.
        device: String,
    },
    /// The file is not the character device of an NVMe controller.
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
    /// The controller is being removed, or has failed.
    #[error("{device}: the controller was removed")]
    Removed {
        /// Path of the device.
        device: String,
    },
    /// The command is not one of those that are allowed.
    #[error(
        "{device}: {refusal}: only power and interrupt coalescing are reached through the kernel's driver"
    )]
    Refused {
        /// Path of the device.
        device: String,
        /// Reason for the refusal.
        refusal: Refusal,
    },
    /// The kernel did not run a command.
    #[error("{device}: {source}")]
    Os {
        /// Path of the device.
        device: String,
        /// The kernel's error.
        source: io::Error,
    },
}

/// Reason why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The opcode, log page or feature is not on the list.
    #[error("this command is not allowed")]
    Command,
    /// A field is set that changes what the command does: fuse, PSDT, save, select, an offset.
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
