//! Identification of controllers and namespaces, field by field with nvme-cli's names.

mod controller_fields;
mod field;
mod kernel_namespaces;
mod namespace_fields;
mod smart_fields;

pub use controller_fields::{controller_fields, controller_json, power_state_json};
pub use field::{NvmeField, hex};
pub use namespace_fields::{lba_formats, namespace_fields, namespace_json};
pub use smart_fields::{SmartField, SmartUnit, smart_fields, smart_json};

use crate::controller_name::ControllerName;
use crate::device_name::{DeviceKind, DeviceName};
use crate::device_name_error::DeviceNameError;
use crate::error::OpenError;

use crate::emulated::EmulatedUse;
use joulio_device::DeviceError;
use joulio_device::pci::{PciError, PciNvme, Sysfs};
use joulio_host::ControllerOpenError;
use joulio_host::controller::{OwnAddress, admin_options, open_pcie, open_vfio_user};
use joulio_nvme::{Cancel, Inspect, KernelController, NvmeError};
use joulio_nvme_spec::ascii;
use kernel_namespaces::{KernelNamespace, file_name, namespace_info};

/// A controller that was opened to be identified, with the namespace that its name refers to.
pub struct Inspected {
    /// The controller.
    pub controller: Box<dyn Inspect>,
    /// Name of the controller: `nvme0` for the kernel's, as in nvme-cli.
    pub name: String,
    /// Identifier of the named namespace; 1 if a controller was named.
    pub nsid: u32,
}

/// Opens a device to identify it: a controller, or the block device of a namespace that the kernel drives. `cancel`
/// ends the wait for a controller that joulio drives.
///
/// # Errors
/// The device is unavailable, or its controller does not become ready.
pub fn inspect(name: &ControllerName, cancel: Cancel) -> Result<Inspected, OpenError> {
    let path = match name {
        ControllerName::Own(name) => {
            return Ok(Inspected {
                controller: own(name, cancel)?,
                name: name.text.clone(),
                nsid: name.nsid,
            });
        }
        ControllerName::Kernel(path) => path,
    };
    let (path, nsid) = match KernelNamespace::of(path) {
        Some(namespace) => (namespace.controller, namespace.nsid),
        None => (path.clone(), 1),
    };
    let controller = KernelController::open(&path).map_err(ControllerOpenError::from)?;
    Ok(Inspected {
        controller: Box::new(controller),
        name: file_name(&path).into(),
        nsid,
    })
}

fn own(name: &DeviceName, cancel: Cancel) -> Result<Box<dyn Inspect>, OpenError> {
    let how = admin_options(cancel);
    Ok(match &name.kind {
        DeviceKind::Emulated(emulated) => {
            Box::new(emulated.open(&name.text, how, EmulatedUse::default())?)
        }
        DeviceKind::Own(OwnAddress::Pcie(address)) => Box::new(open_pcie(*address, how)?),
        DeviceKind::Own(OwnAddress::VfioUser(path)) => Box::new(open_vfio_user(path, how)?),
    })
}

/// Description of a namespace, with the fields of `nvme list`. Strings from the device have passed through [`ascii`].
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

/// Reason why namespaces cannot be listed.
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
    /// A device of the kernel that was named is not an NVMe device.
    #[error("{0} is not an NVMe controller or namespace of this machine: joulio list shows them")]
    NotNvme(String),
}

/// Lists the namespaces of the devices `names`, or without names all namespaces of this machine.
///
/// # Errors
/// A device that was named cannot be opened, or a controller fails a command.
pub fn namespaces(
    names: &[ControllerName],
    cancel: &Cancel,
) -> Result<Vec<NamespaceInfo>, ListError> {
    let mut rows = Vec::new();
    for name in names {
        match name {
            ControllerName::Own(own_name) => {
                rows.extend(opened(&own_name.text, &*own(own_name, cancel.clone())?)?);
            }
            ControllerName::Kernel(path) => {
                let found = of_kernel(file_name(path), &Sysfs::default().nvme_controllers()?);
                if found.is_empty() {
                    return Err(ListError::NotNvme(name.text()));
                }
                rows.extend(found);
            }
        }
    }
    if names.is_empty() {
        for controller in Sysfs::default().nvme_controllers()? {
            rows.extend(of_machine(&controller, cancel)?);
        }
    }
    Ok(rows)
}

/// Returns the namespaces of the kernel's controller `name`, or the namespace called `name`.
fn of_kernel(name: &str, machine: &[PciNvme]) -> Vec<NamespaceInfo> {
    let pairs = machine.iter().flat_map(|controller| {
        let whole = controller.controllers.iter().any(|one| one == name);
        let namespaces = controller.namespaces.iter();
        namespaces
            .filter(move |namespace| whole || *namespace == name)
            .map(move |namespace| namespace_info(controller, namespace))
    });
    pairs.collect()
}

/// Returns the namespaces of a controller of this machine: from sysfs if the kernel drives it, or by commands if it is
/// bound to vfio-pci.
fn of_machine(controller: &PciNvme, cancel: &Cancel) -> Result<Vec<NamespaceInfo>, ListError> {
    if controller.driver.as_deref() == Some("vfio-pci") {
        let text = format!("pcie:{}", controller.address);
        let name: DeviceName = text.parse()?;
        return match own(&name, cancel.clone()) {
            Ok(device) => Ok(opened(&text, &*device)?),
            // A device that is in use, or needs permission, is listed with that as its model.
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
        .map(|name| namespace_info(controller, name))
        .collect())
}

fn opened(node: &str, device: &dyn Inspect) -> Result<Vec<NamespaceInfo>, NvmeError> {
    let identity = device.identity();
    let active = device.active_namespaces()?;
    active
        .into_iter()
        .map(|nsid| {
            let namespace = device.identify_namespace(nsid)?;
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
