//! The IOMMU group: the unit that VFIO hands out, and the conditions for that.

use std::fmt;
use std::path::PathBuf;

use super::owner::may_be_taken;
use super::{Neighbour, PciAddress, PciError, Sysfs};

/// An IOMMU group and its character device. All devices of a group are handed
/// to user space together, because the IOMMU cannot distinguish them
/// (Documentation/driver-api/vfio.rst, "Groups, Devices, and IOMMUs").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VfioGroup {
    /// The number of the group.
    pub number: u32,
    /// Device node of the group: `/dev/vfio/NUMBER`, or `/dev/vfio/noiommu-NUMBER`.
    pub node: PathBuf,
    /// Whether the group's device has no IOMMU ([`NoIommu`](super::NoIommu)).
    pub no_iommu: bool,
}

impl fmt::Display for VfioGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.display().fmt(f)
    }
}

impl Sysfs {
    pub(crate) fn vfio_group(&self, number: u32) -> Result<VfioGroup, PciError> {
        let node = self.vfio_group_node(number)?;
        Ok(VfioGroup {
            number,
            node: self.path(node.trim_start_matches('/')),
            no_iommu: self.is_no_iommu(number)?,
        })
    }

    /// Returns the group's node as the kernel names it, whatever the root of this view.
    pub(super) fn vfio_group_node(&self, number: u32) -> Result<String, PciError> {
        let prefix = match self.is_no_iommu(number)? {
            true => "noiommu-",
            false => "",
        };
        Ok(format!("/dev/vfio/{prefix}{number}"))
    }

    /// Returns the devices because of which VFIO would not open group `number`: each has a driver that does its own
    /// DMA.
    ///
    /// # Errors
    ///
    /// When sysfs cannot be read.
    pub fn group_held_by(&self, number: u32) -> Result<Vec<Neighbour>, PciError> {
        let devices = self.path(&format!("sys/kernel/iommu_groups/{number}/devices"));
        let mut held = Vec::new();
        for device in self.names(&devices)? {
            if let Some(driver) = self.link_name(&devices.join(&device).join("driver"))?
                && !leaves_dma_alone(&driver)
            {
                let uses = Vec::new();
                held.push(Neighbour {
                    device,
                    driver,
                    uses,
                });
            }
        }
        Ok(held)
    }

    /// Refuses a group that could not be opened even after all of its NVMe controllers were bound: each other device
    /// must have no driver, a driver that leaves the DMA to the group's owner, or be a controller that can be bound as
    /// well.
    pub(super) fn group_can_be_had(&self, address: PciAddress, group: u32) -> Result<(), PciError> {
        let own = address.to_string();
        let mut others = Vec::new();
        for mut other in self.group_held_by(group)? {
            if other.device != own && !self.may_follow(&mut other)? {
                others.push(other);
            }
        }
        if others.is_empty() {
            return Ok(());
        }
        Err(PciError::GroupNotViable {
            address,
            group,
            others,
        })
    }

    /// Whether `other` is a controller that could be bound as well; if it is in use, records its uses in it.
    fn may_follow(&self, other: &mut Neighbour) -> Result<bool, PciError> {
        let Ok(address) = other.device.parse() else {
            return Ok(false);
        };
        let nvme = match self.controller(address) {
            Ok(nvme) => nvme,
            Err(PciError::NotNvme { .. } | PciError::Absent { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        if may_be_taken(&nvme).is_err() {
            return Ok(false);
        }
        other.uses = self.uses_of(&nvme)?;
        Ok(other.uses.is_empty())
    }
}

/// Whether `driver` is a PCI driver that sets `driver_managed_dma` (include/linux/pci.h): `vfio-pci` and its variants
/// for one device, the stub, the bridges.
fn leaves_dma_alone(driver: &str) -> bool {
    matches!(driver, "pci-stub" | "pcieport")
        || driver.ends_with("vfio-pci")
        || driver.ends_with("vfio_pci")
}
