//! Where a workload runs: a controller that joulio drives, or what the kernel drives.

use crate::device::DeviceName;
use crate::failure::Failure;
use joulio_kernel_io::{Access, Disk, Target};
use joulio_nvme::{KernelController, PowerControl};
use joulio_workload::{EngineName, KernelTarget, RingOptions};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// `--device` of a command that does I/O.
#[derive(Clone, Debug)]
pub enum Place {
    /// A controller for the user-space driver.
    Own(DeviceName),
    /// A block device or a file: /dev/nvme0n1, ./disk.img.
    Kernel(PathBuf),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        if ["/", "./", "../"]
            .iter()
            .any(|start| text.starts_with(start))
        {
            return Ok(Place::Kernel(text.into()));
        }
        text.parse().map(Place::Own).map_err(|error: String| {
            // Only where the scheme itself is wrong: otherwise the error is about the rest.
            if error.contains("is not a device") {
                format!("{error}, or a path: /dev/nvme0n1, ./disk.img")
            } else {
                error
            }
        })
    }
}

impl Place {
    /// As it was written.
    pub fn text(&self) -> String {
        match self {
            Place::Own(name) => name.text.clone(),
            Place::Kernel(path) => path.display().to_string(),
        }
    }

    /// The engine that works there unless another is asked for.
    pub fn engine(&self) -> EngineName {
        match self {
            Place::Own(_) => EngineName::Nvme,
            Place::Kernel(_) => EngineName::IoUring,
        }
    }

    /// Refuses an engine that does not work there.
    pub fn check(&self, engine: EngineName) -> Result<(), Failure> {
        match self {
            Place::Own(name) if engine.is_kernel() => Err(Failure::input(format!(
                "--engine {engine} on {}: the kernel's engines take a block device or a file: --device /dev/nvme0n1",
                name.text
            ))),
            Place::Kernel(path) if !engine.is_kernel() => Err(Failure::input(format!(
                "--engine nvme on {}: the user-space driver takes the controller: joulio bind, then --device pcie:ADDRESS",
                path.display()
            ))),
            _ => Ok(()),
        }
    }
}

/// Opens the block device or file `path`; for writing, if the data on it may be lost.
pub fn open_kernel(
    path: &Path,
    may_write: bool,
    ring: RingOptions,
) -> Result<KernelTarget, Failure> {
    let access = if may_write {
        Access::Write
    } else {
        Access::Read
    };
    let target = Target::open(path, access).map_err(Failure::input)?;
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
