//! Returning a function from `vfio-pci` to its kernel driver.

use std::fmt;

use super::owner::VFIO_PCI;
use super::{PciAddress, PciError, PciNvme, Sysfs, Undone};

/// Result of returning a controller to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnbindOutcome {
    /// The controller was returned.
    Returned {
        /// The driver that has the controller now: `nvme`, or none if that is not loaded.
        driver: Option<String>,
    },
    /// The controller was not on `vfio-pci`; nothing was written.
    NotOnVfio {
        /// The driver that has the controller.
        driver: Option<String>,
    },
}

impl fmt::Display for UnbindOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Returned {
                driver: Some(driver),
            } => write!(f, "given back to {driver}"),
            Self::Returned { driver: None } => {
                f.write_str("given back, but no driver took it: run `modprobe nvme`")
            }
            Self::NotOnVfio {
                driver: Some(driver),
            } => write!(f, "not on vfio-pci but on {driver}: nothing to do"),
            Self::NotOnVfio { driver: None } => {
                f.write_str("not on vfio-pci but on no driver: nothing to do")
            }
        }
    }
}

impl Sysfs {
    /// Returns a controller to the driver that the kernel's own match chooses (Documentation/ABI/testing/sysfs-bus-pci,
    /// `driver_override`), unless a process still has it open. Also returns a controller without a driver that an
    /// interrupted move left behind.
    ///
    /// # Errors
    /// [`PciError::Absent`] or [`PciError::NotNvme`] for another address,
    /// [`PciError::OpenByProcess`] while it is open, and the kernel's refusals.
    pub fn unbind(&self, address: PciAddress) -> Result<UnbindOutcome, PciError> {
        let nvme = self.controller(address)?;
        let before = self.driver_override(address)?;
        let on_vfio = match nvme.driver.as_deref() {
            Some(VFIO_PCI) => true,
            None if before.as_deref() == Some(VFIO_PCI) => false,
            _ => {
                let driver = nvme.driver;
                return Ok(UnbindOutcome::NotOnVfio { driver });
            }
        };
        self.not_open(&nvme)?;
        self.set_driver_override(address, None)?;
        if on_vfio && let Err(cause) = self.unbind_from(address, VFIO_PCI) {
            let undone = match self.set_driver_override(address, before.as_deref()) {
                Ok(()) => Undone::Back(nvme.driver),
                Err(error) => Undone::Failed(Box::new(error)),
            };
            return Err(PciError::MoveFailed {
                address,
                to: "the kernel's driver",
                cause: Box::new(cause),
                undone,
            });
        }
        self.probe(address)?;
        match self.driver(address)? {
            Some(driver) if driver == VFIO_PCI => Err(PciError::TakenAgain { address }),
            driver => Ok(UnbindOutcome::Returned { driver }),
        }
    }

    /// Refuses a controller whose VFIO device is open: the kernel would wait in `unbind`, and cannot be interrupted,
    /// until its last descriptor is closed (`vfio_unregister_group_dev`, drivers/vfio/vfio_main.c). An open group may
    /// be open for another device of it; that cannot be found out here, so it counts as in use.
    fn not_open(&self, nvme: &PciNvme) -> Result<(), PciError> {
        let address = nvme.address;
        let mut nodes = Vec::new();
        if let Some(number) = nvme.iommu_group {
            nodes.push(self.vfio_group_node(number)?);
        }
        // The device's own node, for iommufd (Documentation/ABI/testing/sysfs-devices-vfio-dev).
        let own = self.names(&self.device_dir(address).join("vfio-dev"))?;
        nodes.extend(own.iter().map(|name| format!("/dev/vfio/devices/{name}")));
        match self.vfio_openers(address, &nodes).into_iter().next() {
            None => Ok(()),
            Some(opener) => Err(PciError::OpenByProcess {
                address,
                node: opener.file,
                pid: opener.pid,
                command: opener.command,
            }),
        }
    }
}
