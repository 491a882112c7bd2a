//! A controller that is asked about its power, by whoever drives it.

use crate::failure::Failure;
use crate::signals::cancel;
use joulio_emulator::{EmulatedDevice, FaultPlan, PowerUse};
use joulio_lab::{DeviceKind, DeviceName, DeviceNameError, open_pcie, open_vfio_user};
use joulio_nvme::{ControllerOptions, KernelController, PowerControl};
use joulio_nvme_spec::ascii;
use std::path::{Path, PathBuf, absolute};
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

    /// The same, from whatever directory it is read again: for the journal.
    pub fn lasting(&self) -> String {
        match self {
            PortName::Own(DeviceName {
                kind: DeviceKind::VfioUser(path),
                ..
            }) => {
                let path = absolute(path).unwrap_or_else(|_| path.clone());
                format!("vfio-user:{}", path.display())
            }
            _ => self.text(),
        }
    }

    /// Opens it. A controller that joulio drives is reset by that, and again when it is closed.
    pub fn open(&self) -> Result<Port, Failure> {
        let how = ControllerOptions {
            queues: 1,
            cancel: cancel(),
            ..ControllerOptions::default()
        };
        let mut emulated = None;
        let control: Control = match self {
            PortName::Kernel(path) => Arc::new(open_kernel(path)?),
            PortName::Own(name) => match &name.kind {
                DeviceKind::Emulated(made) => {
                    let controller = made.open(name, how, 0, &FaultPlan::default())?;
                    emulated = Some(controller.device().clone());
                    Arc::new(controller)
                }
                DeviceKind::Pcie(address) => Arc::new(open_pcie(*address, how)?),
                DeviceKind::VfioUser(path) => Arc::new(open_vfio_user(path, how)?),
            },
        };
        Ok(Port {
            name: self.clone(),
            control,
            emulated,
        })
    }
}

fn open_kernel(path: &Path) -> Result<KernelController, Failure> {
    KernelController::open(path).map_err(Failure::input)
}

/// A controller over any back end, for whoever asks it.
pub type Control = Arc<dyn PowerControl + Send + Sync>;

/// An open one.
pub struct Port {
    /// What it was opened as.
    pub name: PortName,
    /// What to ask.
    pub control: Control,
    /// It, when it is emulated here.
    emulated: Option<EmulatedDevice>,
}

impl Port {
    /// Its serial number.
    pub fn serial(&self) -> String {
        ascii(&self.control.identify_controller().sn).into()
    }

    /// Its model.
    pub fn model(&self) -> String {
        ascii(&self.control.identify_controller().mn).into()
    }

    /// Whether it is gone with this command, so that nothing can be put back after it.
    pub fn is_mortal(&self) -> bool {
        self.emulated.is_some()
    }

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
