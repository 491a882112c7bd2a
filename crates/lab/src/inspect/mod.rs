//! Controllers and namespaces: what they are, field by field in nvme-cli's words.

mod controller_fields;
mod field;
mod namespace_fields;
mod smart_fields;

pub use controller_fields::{controller_fields, controller_json, power_state_json};
pub use field::{NvmeField, hex};
pub use namespace_fields::{lba_formats, namespace_fields, namespace_json};
pub use smart_fields::{SmartField, SmartUnit, smart_fields, smart_json};

use crate::device_name::{DeviceKind, DeviceName};
use crate::device_name_error::DeviceNameError;
use crate::error::OpenError;

use joulio_device::pci::{PciError, PciNvme, Sysfs};
use joulio_device::{Device, DeviceError};
use joulio_emulator::FaultPlan;
use joulio_host::ControllerOpenError;
use joulio_host::controller::{OwnAddress, admin_options, open_pcie, open_vfio_user};
use joulio_nvme::{Cancel, Controller, NvmeError};
use joulio_nvme_spec::ascii;
use joulio_nvme_spec::identify::{IdentifyController, IdentifyNamespace};
use joulio_nvme_spec::log::SmartHealth;
use std::fs;

/// Controller over any back end, to be identified.
pub trait Inspect {
    /// Identify Controller.
    fn identity(&self) -> &IdentifyController;
    /// Identify Namespace of namespace `nsid`.
    ///
    /// # Errors
    /// The controller has no such namespace, or fails the command.
    fn namespace(&self, nsid: u32) -> Result<Box<IdentifyNamespace>, NvmeError>;
    /// Identifiers of the active namespaces.
    ///
    /// # Errors
    /// The controller fails the command.
    fn active(&self) -> Result<Vec<u32>, NvmeError>;
    /// SMART / Health Information (log 02h).
    ///
    /// # Errors
    /// The controller fails the command.
    fn smart(&self) -> Result<Box<SmartHealth>, NvmeError>;
}

impl<D: Device> Inspect for Controller<D> {
    fn identity(&self) -> &IdentifyController {
        Controller::identity(self)
    }

    fn namespace(&self, nsid: u32) -> Result<Box<IdentifyNamespace>, NvmeError> {
        self.identify_namespace(nsid)
    }

    fn active(&self) -> Result<Vec<u32>, NvmeError> {
        self.active_namespaces()
    }

    fn smart(&self) -> Result<Box<SmartHealth>, NvmeError> {
        self.smart_log()
    }
}

/// Opens a device to identify it; `cancel` ends the wait for it.
///
/// # Errors
/// The device cannot be had, or its controller does not come up.
pub fn inspect(name: &DeviceName, cancel: Cancel) -> Result<Box<dyn Inspect>, OpenError> {
    let how = admin_options(cancel);
    Ok(match &name.kind {
        DeviceKind::Emulated(emulated) => {
            Box::new(emulated.open(&name.text, how, 0, &FaultPlan::default())?)
        }
        DeviceKind::Own(OwnAddress::Pcie(address)) => Box::new(open_pcie(*address, how)?),
        DeviceKind::Own(OwnAddress::VfioUser(path)) => Box::new(open_vfio_user(path, how)?),
    })
}

/// A namespace, as `nvme list` has it. Strings of the device come through [`ascii`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceInfo {
    /// Name of the namespace: `/dev/nvme0n1` or `emulated:optane-900p`.
    pub node: String,
    /// Generic character device: `/dev/ng0n1`; empty when there is none.
    pub generic: String,
    /// Serial number.
    pub serial: String,
    /// Model number.
    pub model: String,
    /// Namespace identifier.
    pub namespace: u32,
    /// Bytes in use: NUSE blocks.
    pub used_bytes: u64,
    /// Bytes: NSZE blocks.
    pub size_bytes: u64,
    /// Bytes of a logical block.
    pub block: u32,
    /// Bytes of metadata of each block.
    pub metadata: u16,
    /// Firmware revision.
    pub firmware: String,
}

/// Namespaces that cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// A device that was named cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A controller fails a command.
    #[error(transparent)]
    Controller(#[from] NvmeError),
    /// The kernel's list of controllers cannot be read.
    #[error(transparent)]
    Pci(#[from] PciError),
    /// A controller of the kernel's list has no address.
    #[error(transparent)]
    Name(#[from] DeviceNameError),
}

/// Lists the namespaces of the devices `names`; without names, of this machine.
///
/// # Errors
/// A device that was named cannot be opened, or a controller fails a command.
pub fn namespaces(names: &[DeviceName], cancel: &Cancel) -> Result<Vec<NamespaceInfo>, ListError> {
    let mut rows = Vec::new();
    for name in names {
        rows.extend(opened(&name.text, &*inspect(name, cancel.clone())?)?);
    }
    if names.is_empty() {
        for controller in Sysfs::default().nvme_controllers()? {
            rows.extend(of_machine(&controller, cancel)?);
        }
    }
    Ok(rows)
}

/// A controller of this machine: the kernel's by sysfs, one on vfio-pci by asking it.
fn of_machine(controller: &PciNvme, cancel: &Cancel) -> Result<Vec<NamespaceInfo>, ListError> {
    if controller.driver.as_deref() == Some("vfio-pci") {
        let text = format!("pcie:{}", controller.address);
        let name: DeviceName = text.parse()?;
        return match inspect(&name, cancel.clone()) {
            Ok(device) => Ok(opened(&text, &*device)?),
            // Somebody uses it, or it takes a word: that is worth a row, not an error.
            Err(error) => Ok(vec![NamespaceInfo {
                node: text,
                model: match error {
                    OpenError::Controller(ControllerOpenError::Device(DeviceError::Pci(
                        PciError::NoIommuGroup { .. },
                    ))) => "(no IOMMU)".into(),
                    _ => "(in use)".into(),
                },
                ..NamespaceInfo::default()
            }]),
        };
    }
    Ok(controller
        .namespaces
        .iter()
        .map(|name| kernels(controller, name))
        .collect())
}

/// A namespace that the kernel's driver has (Documentation/ABI/stable/sysfs-block).
fn kernels(controller: &PciNvme, namespace: &str) -> NamespaceInfo {
    let text = |path: String| {
        fs::read_to_string(path)
            .map(|t| t.trim().to_string())
            .unwrap_or_default()
    };
    let number = |path: String| text(path).parse::<u64>().unwrap_or(0);
    let class = controller
        .controllers
        .first()
        .map(|name| format!("/sys/class/nvme/{name}"));
    let of_controller = |file: &str| {
        class
            .as_ref()
            .map(|class| text(format!("{class}/{file}")))
            .unwrap_or_default()
    };
    let block = format!("/sys/block/{namespace}");
    let size = number(format!("{block}/size")) * 512;
    NamespaceInfo {
        node: format!("/dev/{namespace}"),
        generic: namespace
            .strip_prefix("nvme")
            .map(|rest| format!("/dev/ng{rest}"))
            .unwrap_or_default(),
        serial: ascii(of_controller("serial").as_bytes()).into(),
        model: ascii(of_controller("model").as_bytes()).into(),
        namespace: number(format!("{block}/nsid")) as u32,
        used_bytes: size,
        size_bytes: size,
        block: number(format!("{block}/queue/logical_block_size")) as u32,
        metadata: 0,
        firmware: ascii(of_controller("firmware_rev").as_bytes()).into(),
    }
}

fn opened(node: &str, device: &dyn Inspect) -> Result<Vec<NamespaceInfo>, NvmeError> {
    let identity = device.identity();
    let active = device.active()?;
    active
        .into_iter()
        .map(|nsid| {
            let namespace = device.namespace(nsid)?;
            let format = namespace.format();
            let bytes = |blocks: u64| blocks.checked_shl(format.lbads.into()).unwrap_or(0);
            Ok(NamespaceInfo {
                node: node.into(),
                generic: String::new(),
                serial: ascii(&identity.sn).into(),
                model: ascii(&identity.mn).into(),
                namespace: nsid,
                used_bytes: bytes(namespace.nuse.get()),
                size_bytes: bytes(namespace.nsze.get()),
                block: bytes(1) as u32,
                metadata: format.ms.get(),
                firmware: ascii(&identity.fr).into(),
            })
        })
        .collect()
}
