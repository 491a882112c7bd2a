//! `joulio id-ctrl`, `id-ns`, `smart-log`.

use crate::failure::Failure;
use crate::output::{Format, Output, print, print_json};
use crate::signals::cancel;
use crate::{Outcome, nvme_cli};
use clap::Args;
use joulio_device::Device;
use joulio_emulator::FaultPlan;
use joulio_lab::{DeviceKind, DeviceName, open_pcie, open_vfio_user};
use joulio_nvme::{Controller, ControllerOptions, NvmeError};
use joulio_nvme_spec::identify::{IdentifyController, IdentifyNamespace};
use joulio_nvme_spec::log::SmartHealth;

/// A controller to look at.
#[derive(Args)]
pub struct ControllerArgs {
    /// emulated:PROFILE, pcie:0000:01:00.0 or vfio-user:SOCKET
    device: DeviceName,
    #[command(flatten)]
    output: Output,
}

/// A namespace to look at.
#[derive(Args)]
pub struct NamespaceArgs {
    #[command(flatten)]
    controller: ControllerArgs,
    /// Namespace identifier
    #[arg(short, long = "namespace-id")]
    namespace_id: Option<u32>,
}

/// What can be asked of a controller over any back end.
pub trait Inspect {
    /// Identify Controller.
    fn identity(&self) -> &IdentifyController;
    /// Identify Namespace.
    fn namespace(&self, nsid: u32) -> Result<Box<IdentifyNamespace>, NvmeError>;
    /// Active namespaces.
    fn active(&self) -> Result<Vec<u32>, NvmeError>;
    /// Log 02h.
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

/// Opens a device to look at it.
pub fn open(name: &DeviceName) -> Result<Box<dyn Inspect>, Failure> {
    let how = ControllerOptions {
        queues: 1,
        cancel: cancel(),
        ..ControllerOptions::default()
    };
    Ok(match &name.kind {
        DeviceKind::Emulated(emulated) => {
            Box::new(emulated.open(name, how, 0, &FaultPlan::default())?)
        }
        DeviceKind::Pcie(address) => Box::new(open_pcie(*address, how)?),
        DeviceKind::VfioUser(path) => Box::new(open_vfio_user(path, how)?),
    })
}

/// `joulio id-ctrl`.
pub fn id_ctrl(args: &ControllerArgs) -> Outcome {
    let controller = open(&args.device)?;
    match args.output.format {
        Format::Normal => print(&nvme_cli::id_ctrl::text(controller.identity())),
        Format::Json => print_json(&nvme_cli::id_ctrl::json(controller.identity())),
    }
}

/// `joulio id-ns`.
pub fn id_ns(args: &NamespaceArgs) -> Outcome {
    let name = &args.controller.device;
    let controller = open(name)?;
    let nsid = args.namespace_id.unwrap_or(name.nsid);
    let namespace = controller.namespace(nsid).map_err(Failure::input)?;
    match args.controller.output.format {
        Format::Normal => print(&nvme_cli::id_ns::text(&namespace, nsid)),
        Format::Json => print_json(&nvme_cli::id_ns::json(&namespace)),
    }
}

/// `joulio smart-log`.
pub fn smart_log(args: &ControllerArgs) -> Outcome {
    let controller = open(&args.device)?;
    let log = controller.smart().map_err(Failure::run)?;
    match args.output.format {
        Format::Normal => print(&nvme_cli::smart_log::text(&log, &args.device.text)),
        Format::Json => print_json(&nvme_cli::smart_log::json(&log)),
    }
}
