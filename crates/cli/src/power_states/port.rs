//! A controller that is asked about its power, by whoever drives it.

use crate::failure::Failure;
use crate::signals::cancel;
use joulio_emulator::{EmulatedDevice, FaultPlan, PowerUse};
use joulio_host::{AdminController, ControllerAddress};
use joulio_lab::{DeviceKind, DeviceName, DeviceNameError, Emulated};
use joulio_nvme::ControllerOptions;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// A device as `joulio power-states` takes it.
#[derive(Clone, Debug)]
pub enum PortName {
    /// One that the kernel's driver has: /dev/nvme0.
    Kernel(PathBuf),
    /// One that joulio drives itself.
    Own(DeviceName),
}

impl FromStr for PortName {
    type Err = DeviceNameError;

    fn from_str(text: &str) -> Result<PortName, DeviceNameError> {
        if text.starts_with('/') {
            return Ok(PortName::Kernel(text.into()));
        }
        text.parse()
            .map(PortName::Own)
            .map_err(|error| match error {
                DeviceNameError::Scheme(text) => DeviceNameError::SchemeOrPath(text, "/dev/nvme0"),
                error => error,
            })
    }
}

impl PortName {
    /// As it was written.
    pub fn text(&self) -> String {
        match self {
            PortName::Kernel(path) => path.display().to_string(),
            PortName::Own(name) => name.text.clone(),
        }
    }

    /// Opens it. A controller that joulio drives is reset by that, and again when it is closed.
    pub fn open(&self) -> Result<Port, Failure> {
        let address = match self {
            PortName::Kernel(path) => ControllerAddress::Kernel(path.clone()),
            PortName::Own(name) => match &name.kind {
                DeviceKind::Emulated(made) => return open_emulated(name, made),
                DeviceKind::Pcie(address) => ControllerAddress::Pcie(*address),
                DeviceKind::VfioUser(path) => ControllerAddress::VfioUser(path.clone()),
            },
        };
        Ok(Port {
            admin: AdminController::open(self.text(), address, cancel())?,
            emulated: None,
        })
    }
}

/// Makes the controller in this process, with which it ends.
fn open_emulated(name: &DeviceName, made: &Emulated) -> Result<Port, Failure> {
    let how = ControllerOptions {
        queues: 1,
        cancel: cancel(),
        ..ControllerOptions::default()
    };
    let controller = made.open(name, how, 0, &FaultPlan::default())?;
    let emulated = Some(controller.device().clone());
    Ok(Port {
        admin: AdminController::of_this_process(&name.text, Arc::new(controller)),
        emulated,
    })
}

/// An open one.
pub struct Port {
    /// Its admin queue.
    pub admin: AdminController,
    /// It, when it is emulated here.
    emulated: Option<EmulatedDevice>,
}

impl Port {
    /// Where it was how long: only an emulated one tells.
    pub fn power_use(&self) -> Option<PowerUse> {
        self.emulated.as_ref().map(EmulatedDevice::power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_kernels_and_the_rest_is_as_everywhere() {
        let parsed = |text: &str| text.parse::<PortName>();
        assert!(matches!(parsed("/dev/nvme0"), Ok(PortName::Kernel(_))));
        assert!(matches!(parsed("emulated:instant"), Ok(PortName::Own(_))));
        assert!(matches!(parsed("pcie:01:00.0"), Ok(PortName::Own(_))));
        let wrong = parsed("nvme0").unwrap_err().to_string();
        assert!(
            wrong.contains("'nvme0'") && wrong.contains("/dev/nvme0"),
            "{wrong}"
        );
        let wrong = parsed("emulated:instant,lba=x").unwrap_err().to_string();
        assert!(!wrong.contains("/dev/nvme0"), "{wrong}");
    }
}
