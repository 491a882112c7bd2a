//! Opening a controller that joulio's own driver has.

use super::PcieFunction;
use joulio_device::DeviceError;
use joulio_device::vfio::VfioDevice;
use joulio_device::vfio_user::VfioUserDevice;
use joulio_nvme::{Cancel, Controller, ControllerOptions, NvmeError};
use std::path::Path;

/// Reason why a controller could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ControllerOpenError {
    /// The device cannot be opened: it is missing, not permitted, or another process has it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The controller does not become ready, or does not answer Identify.
    #[error(transparent)]
    Controller(#[from] NvmeError),
}

/// Returns options of a controller for admin commands: as few queues as possible; `cancel` ends the waits for it.
pub fn admin_options(cancel: Cancel) -> ControllerOptions {
    ControllerOptions {
        queues: 1,
        cancel,
        ..ControllerOptions::default()
    }
}

/// Opens the PCIe function, which is bound to vfio-pci. `cancel` ends the wait for the controller.
///
/// # Errors
/// The function cannot be opened, or its controller does not become ready.
pub fn open_pcie(
    function: PcieFunction,
    options: ControllerOptions,
) -> Result<Controller<VfioDevice>, ControllerOpenError> {
    let device = VfioDevice::open_with(function.address, function.no_iommu)?;
    Ok(Controller::open(device, options)?)
}

/// Opens the controller at the socket `path`. `cancel` ends the waits for its server and for the controller.
///
/// # Errors
/// No server listens there, or the controller does not become ready.
pub fn open_vfio_user(
    path: &Path,
    options: ControllerOptions,
) -> Result<Controller<VfioUserDevice>, ControllerOpenError> {
    let device = VfioUserDevice::connect_until(path, options.cancel.flag())?;
    Ok(Controller::open(device, options)?)
}
