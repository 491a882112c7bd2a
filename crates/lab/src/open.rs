//! Opening a device of each kind.

use crate::error::OpenError;
use joulio_device::pci::PciAddress;
use joulio_device::vfio::VfioDevice;
use joulio_device::vfio_user::VfioUserDevice;
use joulio_kernel_io::{Access, Disk, Target};
use joulio_nvme::{Controller, ControllerOptions, KernelController, PowerControl};
use joulio_workload::{KernelTarget, RingOptions};
use std::path::Path;
use std::sync::Arc;

/// Opens the PCIe function at `address`, which is bound to vfio-pci.
///
/// # Errors
/// The function cannot be opened, or its controller does not come up.
pub fn open_pcie(
    address: PciAddress,
    how: ControllerOptions,
) -> Result<Controller<VfioDevice>, OpenError> {
    let device = VfioDevice::open(address)?;
    Ok(Controller::open(device, how)?)
}

/// Opens the controller at the socket `path`.
///
/// # Errors
/// Nobody serves there, or the controller does not come up.
pub fn open_vfio_user(
    path: &Path,
    how: ControllerOptions,
) -> Result<Controller<VfioUserDevice>, OpenError> {
    let device = VfioUserDevice::connect_until(path, how.cancel.flag())?;
    Ok(Controller::open(device, how)?)
}

/// Opens the block device or file `path`; for writing, if the data on it may be lost.
///
/// # Errors
/// The path is neither, is in use, or may not be opened.
pub fn open_kernel(
    path: &Path,
    may_write: bool,
    ring: RingOptions,
) -> Result<KernelTarget, OpenError> {
    let access = if may_write {
        Access::Write
    } else {
        Access::Read
    };
    let target = Target::open(path, access)?;
    let power = target.disk().and_then(power);
    let name = path.display().to_string();
    Ok(KernelTarget::new(name, target, may_write, ring, power))
}

/// The controller of an NVMe disk, where it may be asked: that takes root.
fn power(disk: &Disk) -> Option<Arc<dyn PowerControl + Send + Sync>> {
    let [controller] = disk.controllers.as_slice() else {
        return None;
    };
    if !controller.starts_with("nvme") {
        return None;
    }
    let path = Path::new("/dev").join(controller);
    let control = KernelController::open(&path).ok()?;
    Some(Arc::new(control))
}
