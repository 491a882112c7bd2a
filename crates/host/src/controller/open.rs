//! Opening a controller that joulio's own driver has.

use super::PcieFunction;
use joulio_device::DeviceError;
use joulio_device::vfio::VfioDevice;
use joulio_device::vfio_user::VfioUserDevice;
use joulio_nvme::{Cancel, Controller, ControllerOptions, NvmeError};
use std::path::Path;

/// A controller that could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ControllerOpenError {
    /// The device cannot be had: it is missing, not permitted, or another process has it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The controller does not come up, or refuses to say what it is.
    #[error(transparent)]
    Controller(#[from] NvmeError),
}

/// Options of a controller that gets admin commands: as few queues as there can be; `cancel` ends the
/// waits for it.
pub fn admin_options(cancel: Cancel) -> ControllerOptions {
    ControllerOptions {
        queues: 1,
        cancel,
        ..ControllerOptions::default()
    }
}

/// Opens the PCIe function, which is bound to vfio-pci. The wait for the controller
/// ends when it is cancelled.
///
/// # Errors
/// The function cannot be opened, or its controller does not come up.
pub fn open_pcie(
    function: PcieFunction,
    options: ControllerOptions,
) -> Result<Controller<VfioDevice>, ControllerOpenError> {
    let device = VfioDevice::open_with(function.address, function.no_iommu)?;
    Ok(Controller::open(device, options)?)
}

/// Opens the controller at the socket `path`. The waits for its server and for the controller end
/// when they are cancelled.
///
/// # Errors
/// Nobody serves there, or the controller does not come up.
pub fn open_vfio_user(
    path: &Path,
    options: ControllerOptions,
) -> Result<Controller<VfioUserDevice>, ControllerOpenError> {
    let device = VfioUserDevice::connect_until(path, options.cancel.flag())?;
    Ok(Controller::open(device, options)?)
}
