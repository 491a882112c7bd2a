//! Errors of finding or moving a controller, each with what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::{PciAddress, Use};

/// Reason why a controller could not be found or moved. Each message is one line that ends in what to do. Causes are
/// part of the message, so none is given as `source`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PciError {
    /// No PCI function at the address.
    #[error("there is no PCI device {address}: `lspci -D` lists the addresses")]
    Absent {
        /// The requested address.
        address: PciAddress,
    },

    /// The PCI function is not an NVMe controller.
    #[error(
        "{address} is not an NVMe controller (its class is {class}, not 0x010802): choose another address"
    )]
    NotNvme {
        /// The requested address.
        address: PciAddress,
        /// PCI class code, as sysfs has it.
        class: String,
    },

    /// A disk of the controller is in use.
    #[error("{address} is in use ({}): stop what uses it first", join(.uses))]
    InUse {
        /// The controller.
        address: PciAddress,
        /// All uses found.
        uses: Vec<Use>,
    },

    /// A driver that is neither the kernel's `nvme` nor `vfio-pci` has the controller.
    #[error(
        "{address} is bound to {driver}, neither nvme nor vfio-pci: release it from {driver} first"
    )]
    ForeignDriver {
        /// The controller.
        address: PciAddress,
        /// The driver that has it.
        driver: String,
    },

    /// No IOMMU isolates the function's DMA.
    #[error(
        "no IOMMU guards this machine from {address}: enable it in the firmware (VT-d or AMD-Vi) and with intel_iommu=on or amd_iommu=on on the kernel command line; where there is none, `joulio bind --noiommu` and pcie:{address},noiommu take it all the same, and it can then read and write all memory"
    )]
    NoIommuGroup {
        /// The controller.
        address: PciAddress,
    },

    /// VFIO was built without its no-IOMMU mode.
    #[error(
        "this kernel's VFIO has no no-IOMMU mode (CONFIG_VFIO_NOIOMMU): boot one that has it, as Ubuntu's"
    )]
    NoIommuModeMissing,

    /// VFIO's no-IOMMU mode is not switched on.
    #[error(
        "VFIO's no-IOMMU mode is off: `echo Y > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode`"
    )]
    NoIommuModeOff,

    /// The module `vfio-pci` is not loaded.
    #[error("the vfio-pci driver is not loaded: run `modprobe vfio-pci`")]
    VfioPciMissing,

    /// Other devices of the IOMMU group are bound to host drivers, and are no NVMe controllers that could be moved as
    /// well.
    #[error(
        "IOMMU group {group} of {address} also holds {}: release these from their drivers first, or move the controller to another slot",
        join(.others)
    )]
    GroupNotViable {
        /// The controller.
        address: PciAddress,
        /// IOMMU group of the controller.
        group: u32,
        /// The other devices that keep host drivers.
        others: Vec<Neighbour>,
    },

    /// A process has the VFIO group or device open; the kernel would block the unbinding, uninterruptibly, until it
    /// closes.
    #[error(
        "{address} is open through {node} by process {pid} ({command}): end that process first"
    )]
    OpenByProcess {
        /// The controller.
        address: PciAddress,
        /// Device node that the process has open.
        node: String,
        /// Process ID.
        pid: u32,
        /// Name of the process, from `/proc/PID/comm`.
        command: String,
    },

    /// The kernel matched the device again, but the wanted driver did not take it.
    #[error("{driver} did not take it: `dmesg` says why")]
    NotTaken {
        /// The driver that should have taken it.
        driver: String,
    },

    /// `vfio-pci` took the device again though nothing overrides the match.
    #[error(
        "{address} went back to vfio-pci by itself: drop its IDs from the module's ids= option and from /sys/bus/pci/drivers/vfio-pci/new_id"
    )]
    TakenAgain {
        /// The controller.
        address: PciAddress,
    },

    /// A move failed halfway.
    #[error("{address} was not moved to {to}: {cause}; {undone}")]
    MoveFailed {
        /// The controller.
        address: PciAddress,
        /// The driver that the controller was to be moved to.
        to: &'static str,
        /// The step that failed.
        cause: Box<PciError>,
        /// State of the device after the steps before the failed one were undone.
        undone: Undone,
    },

    /// A file that the user may not access.
    #[error("no permission to {verb} {}: run as root", .path.display())]
    NotPermitted {
        /// The operation that failed: read, write, open.
        verb: &'static str,
        /// The file.
        path: PathBuf,
    },

    /// A file of sysfs, procfs or `/dev` failed.
    #[error("cannot {verb} {}: {error}; check that /sys, /proc and /dev are mounted as usual", .path.display())]
    Io {
        /// The operation that failed: read, write, open.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        error: io::Error,
    },

    /// The content of a file is not as expected.
    #[error("{} holds `{text}`, not {wanted}: check that it is the kernel's own /sys", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Content of the attribute.
        text: String,
        /// The content expected.
        wanted: &'static str,
    },
}

impl PciError {
    /// Makes the error of `verb` on `path`; a missing permission is an error of its own.
    pub(super) fn io(verb: &'static str, path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::NotPermitted { verb, path },
            _ => Self::Io { verb, path, error },
        }
    }
}

/// Another device in the IOMMU group, with its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Name of the device on its bus: a PCI address, mostly.
    pub device: String,
    /// Driver of the device.
    pub driver: String,
    /// Uses of the device, where they were looked up.
    pub uses: Vec<Use>,
}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.device, self.driver)?;
        if !self.uses.is_empty() {
            write!(f, ", {}", join(&self.uses))?;
        }
        f.write_str(")")
    }
}

/// State after a move that failed halfway.
#[derive(Debug)]
pub enum Undone {
    /// The device is as it was: with this driver, or with none.
    Back(Option<String>),
    /// Undoing the move failed as well.
    Failed(Box<PciError>),
}

impl fmt::Display for Undone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Back(Some(driver)) => write!(f, "it is back on {driver}"),
            Self::Back(None) => f.write_str("it has no driver, as before"),
            Self::Failed(error) => write!(f, "putting it back failed too: {error}"),
        }
    }
}

fn join<T: fmt::Display>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(T::to_string).collect();
    texts.join(", ")
}
