//! Names of controllers for admin commands, whichever driver has them.

use crate::device_name::{DeviceKind, DeviceName};
use crate::device_name_error::DeviceNameError;
use crate::device_short_name::full_name;
use crate::emulated::{Emulated, EmulatedUse};
use crate::error::OpenError;
use joulio_emulator::{EmulatedDevice, PowerUse};
use joulio_host::controller::admin_options;
use joulio_host::{AdminController, ControllerAddress};
use joulio_nvme::Cancel;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// A controller for admin commands: `/dev/nvme0`, or a device that joulio drives.
#[derive(Clone, Debug)]
pub enum ControllerName {
    /// Character device of a controller that the kernel drives.
    Kernel(PathBuf),
    /// Controller that joulio drives.
    Own(DeviceName),
}

impl FromStr for ControllerName {
    type Err = DeviceNameError;

    fn from_str(text: &str) -> Result<ControllerName, DeviceNameError> {
        let other = ", or /dev/nvme0";
        let text = &*full_name(text).map_err(|error| error.or(other))?;
        if text.starts_with('/') {
            return Ok(ControllerName::Kernel(text.into()));
        }
        text.parse()
            .map(ControllerName::Own)
            .map_err(|error: DeviceNameError| error.or(other))
    }
}

impl ControllerName {
    /// Returns the full name: `/dev/nvme0` for `nvme0`.
    pub fn text(&self) -> String {
        match self {
            ControllerName::Kernel(path) => path.display().to_string(),
            ControllerName::Own(name) => name.text.clone(),
        }
    }

    /// Opens the controller. A controller that joulio drives is reset now and again when it is closed; `cancel` ends
    /// the wait for it to become ready.
    ///
    /// # Errors
    /// The controller is unavailable, or does not become ready.
    pub fn open(&self, cancel: Cancel) -> Result<NamedController, OpenError> {
        let address = match self {
            ControllerName::Kernel(path) => ControllerAddress::Kernel(path.clone()),
            ControllerName::Own(name) => match &name.kind {
                DeviceKind::Emulated(emulated) => return open_emulated(name, emulated, cancel),
                DeviceKind::Own(address) => ControllerAddress::Own(address.clone()),
            },
        };
        Ok(NamedController {
            admin: AdminController::open(self.text(), address, cancel)?,
            emulated: None,
        })
    }
}

/// Creates an emulated controller in this process; it exists until the process closes it.
fn open_emulated(
    name: &DeviceName,
    emulated: &Emulated,
    cancel: Cancel,
) -> Result<NamedController, OpenError> {
    let how = admin_options(cancel);
    let controller = emulated.open(&name.text, how, EmulatedUse::default())?;
    let emulated = Some(controller.device().clone());
    Ok(NamedController {
        admin: AdminController::of_this_process(&name.text, Arc::new(controller)),
        emulated,
    })
}

/// A controller that was opened by name.
pub struct NamedController {
    /// Admin commands of the controller.
    pub admin: AdminController,
    /// The emulated device of the controller, if it is emulated in this process.
    pub(crate) emulated: Option<EmulatedDevice>,
}

impl NamedController {
    /// Returns the time that an emulated controller spent in each power state; `None` for others.
    pub fn power_use(&self) -> Option<PowerUse> {
        self.emulated.as_ref().map(EmulatedDevice::power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_kernels_and_the_rest_is_as_everywhere() {
        let parsed = |text: &str| text.parse::<ControllerName>();
        assert!(matches!(
            parsed("/dev/nvme0"),
            Ok(ControllerName::Kernel(_))
        ));
        assert!(matches!(
            parsed("emulated:instant"),
            Ok(ControllerName::Own(_))
        ));
        assert!(matches!(parsed("pcie:01:00.0"), Ok(ControllerName::Own(_))));
        let wrong = parsed("nvme99").unwrap_err().to_string();
        assert!(
            wrong.contains("'nvme99'") && wrong.contains("/dev/nvme0"),
            "{wrong}"
        );
        let wrong = parsed("emulated:instant,lba=x").unwrap_err().to_string();
        assert!(!wrong.contains("/dev/nvme0"), "{wrong}");
    }
}
