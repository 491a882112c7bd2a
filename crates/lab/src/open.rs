//! Opening what the kernel drives.

use crate::error::OpenError;
use joulio_kernel_io::{Access, DirectFile, Disk};
use joulio_nvme::{KernelController, PowerControl};
use joulio_workload::KernelTarget;
use std::path::Path;
use std::sync::Arc;

/// Opens the block device or file `path`; for writing, if the data on it may be lost.
///
/// # Errors
/// The path is neither, is in use, or may not be opened.
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

/// The controller of an NVMe disk, where it may be queried: that takes root.
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
