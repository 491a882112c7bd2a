//! The IOMMU group: what VFIO hands out, and what has to be free for that.

use std::fmt;
use std::path::PathBuf;

use super::{Neighbour, PciAddress, PciError, Sysfs};

/// An IOMMU group and its character device. All devices of a group are handed
/// to user space together, because the IOMMU cannot tell them apart
/// (Documentation/driver-api/vfio.rst, "Groups, Devices, and IOMMUs").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VfioGroup {
    /// The number of the group.
    pub number: u32,
    /// Device node of the group: `/dev/vfio/NUMBER`.
    pub node: PathBuf,
}

impl fmt::Display for VfioGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.display().fmt(f)
    }
}

impl Sysfs {
    pub(super) fn vfio_group(&self, number: u32) -> Result<VfioGroup, PciError> {
        let node = self.vfio_group_node(number)?;
        Ok(VfioGroup {
            number,
            node: self.path(node.trim_start_matches('/')),
        })
    }

    /// The group's node as the kernel names it, whatever our root.
    pub(super) fn vfio_group_node(&self, number: u32) -> Result<String, PciError> {
        let name = self.path(&format!("sys/kernel/iommu_groups/{number}/name"));
        // VFIO's own groups for devices without an IOMMU (CONFIG_VFIO_NOIOMMU).
        let noiommu = self.text(&name)?.as_deref() == Some("vfio-noiommu");
        let prefix = if noiommu { "noiommu-" } else { "" };
        Ok(format!("/dev/vfio/{prefix}{number}"))
    }

    /// Refuses a group that VFIO would not open: each other device in it must
    /// have no driver, or one that leaves the DMA to the group's owner.
    pub(super) fn group_is_viable(&self, address: PciAddress, group: u32) -> Result<(), PciError> {
        let devices = self.path(&format!("sys/kernel/iommu_groups/{group}/devices"));
        let own = address.to_string();
        let mut others = Vec::new();
        for device in self.names(&devices)? {
            if device == own {
                continue;
            }
            if let Some(driver) = self.link_name(&devices.join(&device).join("driver"))?
                && !leaves_dma_alone(&driver)
            {
                others.push(Neighbour { device, driver });
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
}

/// The PCI drivers that set `driver_managed_dma` (include/linux/pci.h):
/// `vfio-pci` and its variants for one device, the stub, the bridges.
fn leaves_dma_alone(driver: &str) -> bool {
    matches!(driver, "pci-stub" | "pcieport")
        || driver.ends_with("vfio-pci")
        || driver.ends_with("vfio_pci")
}
