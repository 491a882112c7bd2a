//! Moving a function from its kernel driver to `vfio-pci`.

use std::fmt;
use std::fs::File;
use std::path::Path;

use super::owner::{VFIO_PCI, may_be_taken};
use super::{NoIommu, PciAddress, PciError, PciNvme, Sysfs, Undone, VfioGroup};

/// Result of a bind that succeeded: the controller is on `vfio-pci` now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindOutcome {
    /// The controller was moved there.
    Moved {
        /// The driver that had it; none if it was free.
        from: Option<String>,
        /// The VFIO group to open.
        group: VfioGroup,
    },
    /// The controller was on `vfio-pci` before; nothing was written.
    Already {
        /// The VFIO group to open.
        group: VfioGroup,
    },
}

impl BindOutcome {
    /// Returns the group through which the controller is opened.
    pub fn group(&self) -> &VfioGroup {
        match self {
            Self::Moved { group, .. } | Self::Already { group } => group,
        }
    }
}

impl fmt::Display for BindOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moved {
                from: Some(driver),
                group,
            } => write!(f, "moved from {driver} to vfio-pci, {group}"),
            Self::Moved { from: None, group } => write!(f, "bound to vfio-pci, {group}"),
            Self::Already { group } => write!(f, "already on vfio-pci, {group}"),
        }
    }
}

impl Sysfs {
    /// Moves a controller to `vfio-pci`, by `driver_override`, `unbind` and `drivers_probe`
    /// (Documentation/ABI/testing/sysfs-bus-pci), if nothing uses it and the IOMMU can isolate it. A move that fails
    /// halfway is undone.
    ///
    /// Other NVMe controllers of its IOMMU group have to be bound as well before
    /// the group can be opened ([`Sysfs::group_held_by`]), in any order.
    ///
    /// # Errors
    ///
    /// When the controller is in use, when its group contains a device that could not be bound as well, or when a step
    /// of the move fails.
    pub fn bind(&self, address: PciAddress) -> Result<BindOutcome, PciError> {
        self.bind_with(address, NoIommu::Refused)
    }

    /// Moves a controller as [`Sysfs::bind`] does, where allowed also one without an IOMMU.
    ///
    /// # Errors
    ///
    /// As [`Sysfs::bind`]; [`PciError::NoIommuModeMissing`] and [`PciError::NoIommuModeOff`] when the kernel lacks what
    /// that needs.
    pub fn bind_with(
        &self,
        address: PciAddress,
        no_iommu: NoIommu,
    ) -> Result<BindOutcome, PciError> {
        let nvme = self.controller(address)?;
        let guard = self.check_guard(&nvme, no_iommu);
        if nvme.driver.as_deref() == Some(VFIO_PCI) {
            guard?;
            let group = self.group_of(address)?;
            return Ok(BindOutcome::Already { group });
        }
        may_be_taken(&nvme)?;
        let uses = self.uses_of(&nvme)?;
        if !uses.is_empty() {
            return Err(PciError::InUse { address, uses });
        }
        let group = guard?;
        if !self.path("sys/bus/pci/drivers/vfio-pci").exists() {
            return Err(PciError::VfioPciMissing);
        }
        match group {
            Some(number) => self.group_can_be_had(address, number)?,
            None => self.check_no_iommu_mode()?,
        }
        let claims = self.claim_all(&nvme)?;

        let before = self.driver_override(address)?;
        self.set_driver_override(address, Some(VFIO_PCI))?;
        match self.hand_over(&nvme, claims) {
            Ok(group) => Ok(BindOutcome::Moved {
                from: nvme.driver,
                group,
            }),
            Err(cause) => Err(PciError::MoveFailed {
                address,
                to: VFIO_PCI,
                cause: Box::new(cause),
                undone: self.put_back(&nvme, before.as_deref()),
            }),
        }
    }

    fn hand_over(&self, nvme: &PciNvme, claims: Vec<File>) -> Result<VfioGroup, PciError> {
        if let Some(driver) = &nvme.driver {
            self.unbind_from(nvme.address, driver)?;
        }
        // The disks are gone, and nobody began to use one meanwhile.
        drop(claims);
        self.probe(nvme.address)?;
        match self.driver(nvme.address)?.as_deref() {
            // Without an IOMMU the group exists only from here on.
            Some(VFIO_PCI) => self.group_of(nvme.address),
            _ => Err(PciError::NotTaken {
                driver: VFIO_PCI.to_owned(),
            }),
        }
    }

    fn group_of(&self, address: PciAddress) -> Result<VfioGroup, PciError> {
        let group = self.controller(address)?.iommu_group;
        self.vfio_group(group.ok_or(PciError::NoIommuGroup { address })?)
    }

    /// Restores the device as it was found: its override, and its driver if it had one.
    fn put_back(&self, nvme: &PciNvme, before: Option<&str>) -> Undone {
        let back = || {
            self.set_driver_override(nvme.address, before)?;
            let now = self.driver(nvme.address)?;
            if now == nvme.driver {
                return Ok(());
            }
            if let Some(other) = now {
                self.unbind_from(nvme.address, &other)?;
            }
            let Some(driver) = &nvme.driver else {
                return Ok(());
            };
            self.probe(nvme.address)?;
            if self.driver(nvme.address)? == nvme.driver {
                return Ok(());
            }
            Err(PciError::NotTaken {
                driver: driver.clone(),
            })
        };
        match back() {
            Ok(()) => Undone::Back(nvme.driver.clone()),
            Err(error) => Undone::Failed(Box::new(error)),
        }
    }

    /// Reads `driver_override`; `None` if it is not set.
    pub(super) fn driver_override(&self, address: PciAddress) -> Result<Option<String>, PciError> {
        let text = self.text(&self.device_dir(address).join("driver_override"))?;
        Ok(text.filter(|text| !text.is_empty() && text != "(null)"))
    }

    /// Writes `driver_override`; a lone newline clears it.
    pub(super) fn set_driver_override(
        &self,
        address: PciAddress,
        driver: Option<&str>,
    ) -> Result<(), PciError> {
        let path = self.device_dir(address).join("driver_override");
        self.write(&path, driver.unwrap_or("\n"))
    }

    pub(super) fn unbind_from(&self, address: PciAddress, driver: &str) -> Result<(), PciError> {
        let path = self.path("sys/bus/pci/drivers").join(driver).join("unbind");
        self.write(&path, &address.to_string())
    }

    /// Asks the kernel to match the device to a driver again. The write succeeds whether or not a driver took it
    /// (`drivers_probe_store`, drivers/base/bus.c).
    pub(super) fn probe(&self, address: PciAddress) -> Result<(), PciError> {
        let path = self.path("sys/bus/pci/drivers_probe");
        self.write(&path, &address.to_string())
    }

    fn write(&self, path: &Path, value: &str) -> Result<(), PciError> {
        self.attributes
            .write(path, value.as_bytes())
            .map_err(|error| PciError::io("write", path, error))
    }
}
