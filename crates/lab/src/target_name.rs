//! Names of targets: a controller that joulio drives, or a device or file that the kernel drives.

use crate::device_name::DeviceName;
use crate::device_name_error::DeviceNameError;
use crate::error::OpenError;
use joulio_workload::EngineName;
use std::path::PathBuf;
use std::str::FromStr;

/// `--device` of a command that does I/O.
#[derive(Clone, Debug)]
pub enum TargetName {
    /// A controller for the user-space driver.
    Own(DeviceName),
    /// A block device or a file: /dev/nvme0n1, ./disk.img.
    Kernel(PathBuf),
}

impl Default for TargetName {
    /// The emulated device that commands use where none is named.
    fn default() -> TargetName {
        TargetName::Own(DeviceName::default())
    }
}

impl FromStr for TargetName {
    type Err = DeviceNameError;

    fn from_str(text: &str) -> Result<TargetName, DeviceNameError> {
        if ["/", "./", "../"]
            .iter()
            .any(|start| text.starts_with(start))
        {
            return Ok(TargetName::Kernel(text.into()));
        }
        text.parse()
            .map(TargetName::Own)
            .map_err(|error| match error {
                DeviceNameError::Scheme(text) => {
                    DeviceNameError::SchemeOrPath(text, "a path: /dev/nvme0n1, ./disk.img")
                }
                error => error,
            })
    }
}

impl TargetName {
    /// The name as it was written.
    pub fn text(&self) -> String {
        match self {
            TargetName::Own(name) => name.text.clone(),
            TargetName::Kernel(path) => path.display().to_string(),
        }
    }

    /// The engine that is used there by default.
    pub fn engine(&self) -> EngineName {
        match self {
            TargetName::Own(_) => EngineName::Nvme,
            TargetName::Kernel(_) => EngineName::IoUring,
        }
    }

    /// Refuses an engine that does not work there.
    ///
    /// # Errors
    /// The engine is of the other kind.
    pub fn check(&self, engine: EngineName) -> Result<(), OpenError> {
        match self {
            TargetName::Own(name) if engine.is_kernel() => Err(OpenError::NeedsBlockDevice {
                engine,
                name: name.text.clone(),
            }),
            TargetName::Kernel(path) if !engine.is_kernel() => {
                Err(OpenError::NeedsController(path.clone()))
            }
            _ => Ok(()),
        }
    }
}
