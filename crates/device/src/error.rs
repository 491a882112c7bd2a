//! Errors of the back ends, each with what to do about it.

use crate::pci::Neighbour;
use std::io;

/// A failure of a device back end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The PCI function does not exist, or is not an NVMe controller.
    #[error(transparent)]
    Pci(#[from] crate::pci::PciError),
    /// Failure of the server at the other end of a socket.
    #[error(transparent)]
    VfioUser(#[from] crate::vfio_user::VfioUserError),
    /// Failure of a controller that the kernel's driver has.
    #[error(transparent)]
    Kernel(#[from] crate::kernel::KernelError),
    /// Another driver than vfio-pci has the device.
    #[error(
        "{device} is held by the {driver} driver; `joulio bind {arguments}` moves it to vfio-pci"
    )]
    HeldByKernel {
        /// Name of the device, as the user gave it.
        device: String,
        /// PCI address of the device, and the option that allows one without an IOMMU.
        arguments: String,
        /// The driver that has it, or "no".
        driver: String,
    },
    /// The IOMMU group contains a device that a kernel driver still has.
    #[error(
        "{device}: VFIO does not open IOMMU group {group} while kernel drivers hold devices of it{}: `joulio bind` those that are NVMe controllers, release the others", held(.others)
    )]
    NotViable {
        /// Name of the device, as the user gave it.
        device: String,
        /// The IOMMU group.
        group: u32,
        /// The devices that are held, as far as sysfs shows them.
        others: Vec<Neighbour>,
    },
    /// The IOMMU cannot remap interrupts.
    #[error(
        "{device}: the kernel refuses this IOMMU because it cannot remap interrupts; enable interrupt remapping (x2APIC in the firmware), or accept the risk with vfio_iommu_type1.allow_unsafe_interrupts=1"
    )]
    NoInterruptRemapping {
        /// Name of the device, as the user gave it.
        device: String,
    },
    /// A file could not be opened for want of permission.
    #[error(
        "{path}: permission denied; run as root, or give your group the file by a udev rule: SUBSYSTEM==\"vfio\", GROUP=\"disk\", MODE=\"0660\""
    )]
    Permission {
        /// The file.
        path: String,
    },
    /// Another process has the device open.
    #[error("{device} is in use by another process ({path} is busy)")]
    Busy {
        /// Name of the device, as the user gave it.
        device: String,
        /// The device node that is open.
        path: String,
    },
    /// The device is open in this process already.
    #[error(
        "{device} is open in this process already: close it first, or use the one that is open"
    )]
    OpenAlready {
        /// Name of the device, as the user gave it.
        device: String,
    },
    /// Another process has the device's IOMMU group open.
    #[error(
        "{device}: another process has its IOMMU group {group}, with this device or with another of the group; one process drives all devices of a group (/sys/kernel/iommu_groups/{group}/devices)"
    )]
    GroupBusy {
        /// Name of the device, as the user gave it.
        device: String,
        /// The IOMMU group.
        group: u32,
    },
    /// The lock limit does not allow so much DMA memory.
    #[error(
        "cannot pin {wanted} bytes for DMA: RLIMIT_MEMLOCK is {limit}; raise it (`ulimit -l unlimited`, LimitMEMLOCK=infinity in a systemd unit) or run with CAP_IPC_LOCK"
    )]
    MemoryLock {
        /// Requested size in bytes.
        wanted: usize,
        /// The limit in bytes, or "unlimited".
        limit: String,
    },
    /// The system has no memory for the request.
    #[error("cannot allocate {wanted} bytes of memory: {source}")]
    Memory {
        /// Requested size in bytes.
        wanted: usize,
        /// Error of the system.
        source: io::Error,
    },
    /// The device's address space is full.
    #[error("no room for {wanted} bytes in the address space that the IOMMU gives this device")]
    IovaSpace {
        /// Requested size in bytes.
        wanted: usize,
    },
    /// Too few adjacent huge pages for a device without an IOMMU.
    #[error(
        "a device without an IOMMU takes huge pages, for {wanted} bytes so many of 2 MiB in one piece: {pages}; free in one piece are {found}: reserve more, best at boot (hugepages=128), or now by `echo 128 > /proc/sys/vm/nr_hugepages`"
    )]
    HugePages {
        /// Requested size in bytes.
        wanted: usize,
        /// Huge pages needed.
        pages: usize,
        /// Largest number of adjacent free huge pages.
        found: usize,
    },
    /// The process lacks the rights that a device without an IOMMU needs.
    #[error(
        "{device}: to drive a device without an IOMMU takes CAP_SYS_RAWIO, and CAP_SYS_ADMIN to see physical addresses: run as root"
    )]
    NoIommuRights {
        /// Name of the device, as the user gave it.
        device: String,
    },
    /// The doorbell is beyond the mapped registers.
    #[error(
        "doorbell at {offset:#x} lies outside of the device's registers ({size:#x} bytes): use fewer queues"
    )]
    Doorbell {
        /// Offset of the doorbell in bytes.
        offset: u32,
        /// Bytes that are mapped.
        size: usize,
    },
    /// The device has fewer vectors than were requested.
    #[error("{wanted} interrupt vectors requested, the device has {have}")]
    Vectors {
        /// Vectors requested.
        wanted: u16,
        /// Vectors of the device.
        have: u16,
    },
    /// The vector cannot be masked or redirected from user space.
    #[error("interrupt vector {vector}: the MSI-X table is out of reach: {reason}")]
    VectorTable {
        /// The vector.
        vector: u16,
        /// Reason in words.
        reason: String,
    },
    /// The device lacks a feature that the back end needs.
    #[error("{device}: {reason}")]
    Unsupported {
        /// Name of the device, as the user gave it.
        device: String,
        /// The feature that is missing.
        reason: String,
    },
    /// Memory of the caller is not made of whole pages.
    #[error(
        "{len} bytes at {address:#x} are not whole pages of {page} bytes: map them on such a boundary, and in whole pages"
    )]
    Pages {
        /// Address of the first byte.
        address: usize,
        /// Length in bytes.
        len: usize,
        /// Size of a page in bytes.
        page: usize,
    },
    /// The memory can be written by others, so that its buffers cannot be slices.
    #[error(
        "memory of a file can be written by whoever else has the file: its buffers are copied in and out (DmaBuffer)"
    )]
    NotPrivate,
    /// The device has no reset of the whole function.
    #[error("{device} has no function-level reset")]
    NoFunctionReset {
        /// Name of the device, as the user gave it.
        device: String,
    },
    /// A call of the operating system failed.
    #[error("{what}: {source}")]
    Os {
        /// The call that failed.
        what: String,
        /// The system's error.
        source: io::Error,
    },
}

impl DeviceError {
    /// Makes a [`DeviceError::Os`] of this thread's last error.
    pub(crate) fn last_os(what: impl Into<String>) -> DeviceError {
        DeviceError::Os {
            what: what.into(),
            source: io::Error::last_os_error(),
        }
    }
}

/// Returns `others` in parentheses, or nothing if there are none.
fn held(others: &[Neighbour]) -> String {
    let others: Vec<String> = others.iter().map(ToString::to_string).collect();
    match others.as_slice() {
        [] => String::new(),
        others => format!(" ({})", others.join(", ")),
    }
}
