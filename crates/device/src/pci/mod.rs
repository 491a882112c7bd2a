//! Finding NVMe controllers in sysfs, and moving one between the kernel's
//! `nvme` driver and `vfio-pci`.
//!
//! Taking a disk from the kernel is the one step of joulio that can lose somebody's data, so it is refused unless every
//! check succeeds: the function is an NVMe controller, nothing uses one of its disks ([`Use`]), the IOMMU can isolate
//! it. Nothing is written before the last check, and a move that fails halfway is undone.
//!
//! Everything is read below one root ([`Sysfs::at`]) and written through one narrow interface (`attributes.rs`), so
//! that the tests run on trees of plain files.
//!
//! Sources: Documentation/ABI/testing/sysfs-bus-pci,
//! Documentation/ABI/testing/sysfs-kernel-iommu_groups and
//! Documentation/driver-api/vfio.rst of the Linux kernel.

#![forbid(unsafe_code)]

mod address;
mod attributes;
mod bind;
mod block;
mod disk_use;
mod error;
mod group;
mod id;
mod in_use;
mod mounts;
mod no_iommu;
mod owner;
mod processes;
mod sysfs;
mod unbind;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

pub use address::{ParsePciAddressError, PciAddress};
pub use bind::BindOutcome;
pub use disk_use::Use;
pub use error::{Neighbour, PciError, Undone};
pub use group::VfioGroup;
pub use id::PciId;
pub use no_iommu::NoIommu;
pub use sysfs::{PciNvme, Sysfs};
pub use unbind::UnbindOutcome;
