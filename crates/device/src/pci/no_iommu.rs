//! Controllers without an IOMMU: VFIO's no-IOMMU mode (CONFIG_VFIO_NOIOMMU), in which the kernel makes a group when
//! vfio-pci takes the device.

use super::{PciAddress, PciError, PciNvme, Sysfs};

/// Permission to drive a controller that no IOMMU confines: it then reads and writes by physical addresses, and a wrong
/// one corrupts whatever is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoIommu {
    /// Refused: the controller needs an IOMMU.
    #[default]
    Refused,
    /// Allowed. Where there is an IOMMU, it is used.
    Allowed,
}

impl NoIommu {
    /// Returns a one-line warning of the danger.
    pub fn danger(address: PciAddress) -> String {
        format!(
            "no IOMMU guards this machine from {address}: it can read and write all memory, and a wrong address corrupts it"
        )
    }
}

/// Module parameter of the no-IOMMU mode, which VFIO has only with CONFIG_VFIO_NOIOMMU.
const MODE: &str = "sys/module/vfio/parameters/enable_unsafe_noiommu_mode";

impl Sysfs {
    /// Checks that an IOMMU isolates `nvme`, or that it may be driven without. Returns the group, if it exists yet.
    pub(crate) fn check_guard(
        &self,
        nvme: &PciNvme,
        no_iommu: NoIommu,
    ) -> Result<Option<u32>, PciError> {
        let group = nvme.iommu_group;
        if let Some(number) = group
            && !self.is_no_iommu(number)?
        {
            return Ok(group);
        }
        let address = nvme.address;
        match no_iommu {
            NoIommu::Refused => Err(PciError::NoIommuGroup { address }),
            NoIommu::Allowed => Ok(group),
        }
    }

    /// Whether group `number` is one that VFIO has made for a device without an IOMMU.
    pub(super) fn is_no_iommu(&self, number: u32) -> Result<bool, PciError> {
        let name = self.path(&format!("sys/kernel/iommu_groups/{number}/name"));
        Ok(self.text(&name)?.as_deref() == Some("vfio-noiommu"))
    }

    /// Checks that VFIO makes groups for devices without an IOMMU.
    pub(super) fn check_no_iommu_mode(&self) -> Result<(), PciError> {
        match self.text(&self.path(MODE))?.as_deref() {
            Some("Y") => Ok(()),
            Some(_) => Err(PciError::NoIommuModeOff),
            None => Err(PciError::NoIommuModeMissing),
        }
    }
}
