//! The driver that has a controller, and whether it may be taken from it.

use super::{PciError, PciNvme};

pub(super) const VFIO_PCI: &str = "vfio-pci";

/// Refuses a controller whose driver is not the kernel's own, the stub that
/// reserves devices, or none: another owner would be surprised, and no table
/// here knows its users.
pub(super) fn may_be_taken(nvme: &PciNvme) -> Result<(), PciError> {
    match nvme.driver.as_deref() {
        None | Some("nvme" | "pci-stub") => Ok(()),
        Some(driver) => Err(PciError::ForeignDriver {
            address: nvme.address,
            driver: driver.to_owned(),
        }),
    }
}
