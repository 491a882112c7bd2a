//! Power of a controller that this driver owns.

use super::{Controller, NvmeError};
use crate::power::PowerControl;
use joulio_device::pci::PciId;
use joulio_device::{AdminData, Device};
use joulio_nvme_spec::Command;
use joulio_nvme_spec::feature::ApstTable;
use joulio_nvme_spec::identify::IdentifyController;

impl<D: Device> PowerControl for Controller<D> {
    fn device_name(&self) -> &str {
        self.name()
    }

    fn identify_controller(&self) -> &IdentifyController {
        self.identity()
    }

    fn pci_id(&self) -> Option<PciId> {
        self.shared.device.pci_id()
    }

    fn admin(
        &self,
        name: &'static str,
        command: Command,
        data: AdminData<'_>,
    ) -> Result<u32, NvmeError> {
        self.check_page(&command, &data)?;
        Ok(self.shared.exchange(name, command, data)? as u32)
    }
}

impl<D: Device> Controller<D> {
    /// Feature 0Ch, as [`PowerControl::apst`].
    ///
    /// # Errors
    /// The command failed, or the device is gone.
    pub fn apst(&self) -> Result<(bool, Box<ApstTable>), NvmeError> {
        PowerControl::apst(self)
    }
}
