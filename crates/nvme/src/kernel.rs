//! A controller that the kernel's driver keeps, whose power and identity are read.

use crate::NvmeError;
use crate::inspect::FetchData;
use crate::power::PowerControl;
use joulio_device::kernel::KernelNvme;
use joulio_device::pci::PciId;
use joulio_device::{AdminData, DeviceError};
use joulio_nvme_spec::identify::{Cns, IdentifyController};
use joulio_nvme_spec::register::Version;
use joulio_nvme_spec::{Command, NamespaceId};
use std::path::Path;
use zerocopy::{FromBytes, IntoBytes};

/// A controller as `/dev/nvme0`, which the kernel goes on using. It has no queues here, only [`PowerControl`] and
/// [`crate::Inspect`].
///
/// The kernel does not know what is set here: after a reset it sets its own values.
#[derive(Debug)]
pub struct KernelController {
    device: KernelNvme,
    identity: Box<IdentifyController>,
}

impl KernelController {
    /// Opens the controller at `path` and identifies it (Base 5.17).
    ///
    /// # Errors
    /// The device cannot be opened, or refuses the command.
    pub fn open(path: &Path) -> Result<KernelController, NvmeError> {
        let device = KernelNvme::open(path).map_err(DeviceError::from)?;
        let command = Command::identify(Cns::CONTROLLER, NamespaceId::NONE);
        let identity = fetch(&device, "Identify Controller", command)?;
        Ok(KernelController { device, identity })
    }
}

impl FetchData for KernelController {
    fn name(&self) -> &str {
        self.device.name()
    }

    fn identity(&self) -> &IdentifyController {
        &self.identity
    }

    /// Returns whether the controller has a list of active namespaces, by VER. VER is 0 before NVMe 1.2: there each
    /// namespace is asked for.
    fn has_list(&self) -> bool {
        let version = Version::from(self.identity.ver.get());
        (version.major(), version.minor()) >= (1, 1)
    }

    fn fetch<T: FromBytes + IntoBytes>(
        &self,
        name: &'static str,
        command: Command,
    ) -> Result<Box<T>, NvmeError> {
        fetch(&self.device, name, command)
    }
}

impl PowerControl for KernelController {
    fn device_name(&self) -> &str {
        self.device.name()
    }

    fn identify_controller(&self) -> &IdentifyController {
        &self.identity
    }

    fn pci_id(&self) -> Option<PciId> {
        self.device.pci_id()
    }

    fn admin(
        &self,
        name: &'static str,
        command: Command,
        data: AdminData<'_>,
    ) -> Result<u32, NvmeError> {
        run(&self.device, name, command, data)
    }
}

fn run(
    device: &KernelNvme,
    name: &'static str,
    command: Command,
    data: AdminData<'_>,
) -> Result<u32, NvmeError> {
    let ended = device.admin(&command, data).map_err(DeviceError::from)?;
    if !ended.status.is_success() {
        return Err(NvmeError::Admin {
            device: device.name().into(),
            command: name,
            status: ended.status,
        });
    }
    Ok(ended.dw0)
}

/// Executes a command and returns the data that it reads.
fn fetch<T: FromBytes + IntoBytes>(
    device: &KernelNvme,
    name: &'static str,
    command: Command,
) -> Result<Box<T>, NvmeError> {
    let mut read = Box::new(T::new_zeroed());
    run(device, name, command, AdminData::In(read.as_mut_bytes()))?;
    Ok(read)
}
