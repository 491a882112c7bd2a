//! The driver of a controller, and whether the controller may be taken from it.

use super::{PciError, PciNvme};

pub(super) const VFIO_PCI: &str = "vfio-pci";

/// Refuses a controller unless its driver is the kernel's own, the stub that reserves devices, or none: no table here
/// knows the users of another driver.
pub(super) fn may_be_taken(nvme: &PciNvme) -> Result<(), PciError> {
    match nvme.driver.as_deref() {
        None | Some("nvme" | "pci-stub") => Ok(()),
        Some(driver) => Err(PciError::ForeignDriver {
            address: nvme.address,
            driver: driver.to_owned(),
        }),
    }
}
