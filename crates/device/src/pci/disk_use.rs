//! A use of a controller's disk.

use std::fmt;

/// A use of a controller's disk. Names are the kernel's (`nvme0n1p2`, `dm-0`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Use {
    /// Mounted file system on it (proc_pid_mountinfo(5)).
    Mounted {
        /// The disk, a partition, or what was stacked on them.
        device: String,
        /// The mount point.
        on: String,
    },
    /// Swap area (proc_swaps(5)).
    Swap {
        /// The disk, a partition, or what was stacked on them.
        device: String,
    },
    /// Component of another block device (`holders` in `/sys/class/block`).
    Held {
        /// The disk, a partition, or what was stacked on them.
        device: String,
        /// The device above: `md0`, `dm-0`, `bcache0`, `loop0`.
        by: String,
        /// The name that its owner gave it, for a device-mapper device.
        known_as: Option<String>,
    },
    /// Served by the kernel's NVMe target (Documentation/ABI/stable/configfs-nvmet).
    Exported {
        /// The disk or the controller.
        device: String,
        /// The NQN of the subsystem that serves it.
        subsystem: String,
    },
    /// Claimed exclusively, and no table says by whom: a mount in a container, a pool of ZFS, a program (open(2),
    /// `O_EXCL`).
    OpenedExclusively {
        /// The disk.
        device: String,
    },
    /// Opened by a process, not exclusively (proc_pid_fd(5)).
    Opened {
        /// The device node: `/dev/nvme0n1`, `/dev/ng0n1`, `/dev/nvme0`.
        node: String,
        /// Process ID.
        pid: u32,
        /// Name of the process.
        command: String,
    },
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { device, on } => write!(f, "mounted: {device} on {on}"),
            Self::Swap { device } => write!(f, "swap on {device}"),
            Self::Held {
                device,
                by,
                known_as: None,
            } => write!(f, "{device} held by {by}"),
            Self::Held {
                device,
                by,
                known_as: Some(name),
            } => write!(f, "{device} held by {by} ({name})"),
            Self::Exported { device, subsystem } => {
                write!(f, "{device} exported by the NVMe target as {subsystem}")
            }
            Self::OpenedExclusively { device } => write!(f, "{device} opened exclusively"),
            Self::Opened { node, pid, command } => {
                write!(f, "{node} opened by process {pid} ({command})")
            }
        }
    }
}
