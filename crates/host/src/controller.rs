//! Controllers whose admin queue is open: for features, power states and the device's own meter.

mod address;
mod open;

pub use address::{ControllerAddress, NO_IOMMU, OwnAddress, ParseAddressError, PcieFunction};
pub use open::{ControllerOpenError, admin_options, open_pcie, open_vfio_user};

use joulio_nvme::{Cancel, KernelController, PowerControl};
use joulio_nvme_spec::ascii;
use std::sync::Arc;

/// Admin commands of a controller on any back end, shared by all who read or set features.
pub type SharedPowerControl = Arc<dyn PowerControl + Send + Sync>;

/// An open controller that accepts admin commands.
pub struct AdminController {
    name: String,
    address: Option<ControllerAddress>,
    control: SharedPowerControl,
}

impl AdminController {
    /// Opens the controller at `address`, which the user calls `name`. A controller that joulio drives is reset when it
    /// is opened, and again when it is closed; `cancel` ends the wait for it.
    ///
    /// # Errors
    /// The device cannot be opened, or its controller does not become ready.
    pub fn open(
        name: impl Into<String>,
        address: ControllerAddress,
        cancel: Cancel,
    ) -> Result<AdminController, ControllerOpenError> {
        let options = admin_options(cancel);
        let control: SharedPowerControl = match &address {
            ControllerAddress::Kernel(path) => Arc::new(KernelController::open(path)?),
            ControllerAddress::Own(OwnAddress::Pcie(address)) => {
                Arc::new(open_pcie(*address, options)?)
            }
            ControllerAddress::Own(OwnAddress::VfioUser(path)) => {
                Arc::new(open_vfio_user(path, options)?)
            }
        };
        Ok(AdminController::opened(name, address, control))
    }

    /// Wraps the open controller `control` at `address`, which the user calls `name`.
    pub fn opened(
        name: impl Into<String>,
        address: ControllerAddress,
        control: SharedPowerControl,
    ) -> AdminController {
        AdminController {
            name: name.into(),
            address: Some(address),
            control,
        }
    }

    /// Returns another handle of this controller.
    pub fn again(&self) -> AdminController {
        AdminController {
            name: self.name.clone(),
            address: self.address.clone(),
            control: Arc::clone(&self.control),
        }
    }

    /// Wraps a controller that ends with this process, as an emulated one does: its changes need no journal, since they
    /// need not be restored.
    pub fn of_this_process(
        name: impl Into<String>,
        control: SharedPowerControl,
    ) -> AdminController {
        AdminController {
            name: name.into(),
            address: None,
            control,
        }
    }

    /// Returns the name that the user gave the controller.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the address at which any process finds the controller again; `None` for one that ends with this process.
    pub fn address(&self) -> Option<&ControllerAddress> {
        self.address.as_ref()
    }

    /// Returns the controller's admin commands.
    pub fn control(&self) -> &SharedPowerControl {
        &self.control
    }

    /// Returns the serial number (Identify Controller, SN).
    pub fn serial(&self) -> String {
        ascii(&self.control.identify_controller().sn).into()
    }

    /// Returns the model number (Identify Controller, MN).
    pub fn model(&self) -> String {
        ascii(&self.control.identify_controller().mn).into()
    }

    /// Whether the controller ends with this process, so that nothing can be restored after it.
    pub fn ends_with_process(&self) -> bool {
        self.address.is_none()
    }
}
