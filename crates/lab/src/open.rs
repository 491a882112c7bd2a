//! Opening of block devices and files.

use crate::error::OpenError;
use joulio_kernel_io::{Access, DirectFile, Disk};
use joulio_nvme::{KernelController, PowerControl};
use joulio_workload::KernelTarget;
use std::path::Path;
use std::sync::Arc;

/// Opens the block device or file `path`, for writing too if its data may be lost.
///
/// # Errors
/// The path is neither a block device nor a file, is in use, or may not be opened.
pub fn open_kernel(path: &Path, may_write: bool) -> Result<KernelTarget, OpenError> {
    let access = if may_write {
        Access::Write
    } else {
        Access::Read
    };
    let file = DirectFile::open(path, access)?;
    let power = file.disk().and_then(power);
    let name = path.display().to_string();
    Ok(KernelTarget::new(name, file, may_write, power))
}

/// Returns the controller of an NVMe disk for power queries; `None` without the permission, which root has.
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
