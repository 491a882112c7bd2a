//! `joulio id-ctrl`, `id-ns`, `smart-log`.

use crate::failure::Failure;
use crate::output::{Format, Output, print, print_json};
use crate::signals::cancel;
use crate::{Outcome, nvme_cli};
use clap::Args;
use joulio_lab::inspect::{controller_json, inspect, namespace_json, smart_json};
use joulio_lab::{DeviceName, DeviceNameError};

/// A controller to inspect.
#[derive(Args)]
pub struct ControllerArgs {
    /// emulated:PROFILE, pcie:0000:01:00.0 or vfio-user:SOCKET
    #[arg(value_parser = own_device)]
    device: DeviceName,
    #[command(flatten)]
    output: Output,
}

/// A device that joulio drives: nvme-cli's users type the kernel's first.
fn own_device(text: &str) -> Result<DeviceName, String> {
    let name = text.strip_prefix("/dev/").unwrap_or(text);
    let number = name.strip_prefix("nvme");
    if number.is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit())) {
        return Err(format!(
            "the kernel's driver has {name}: nvme id-ctrl, id-ns or smart-log /dev/{name} (nvme-cli) reads it there; \
             joulio bind takes it over, by its PCI address"
        ));
    }
    text.parse()
        .map_err(|error: DeviceNameError| error.to_string())
}

/// A namespace to inspect.
#[derive(Args)]
pub struct NamespaceArgs {
    #[command(flatten)]
    controller: ControllerArgs,
    /// Namespace identifier
    #[arg(short, long = "namespace-id")]
    namespace_id: Option<u32>,
}

/// `joulio id-ctrl`.
pub fn id_ctrl(args: &ControllerArgs) -> Outcome {
    let controller = inspect(&args.device, cancel())?;
    match args.output.format() {
        Format::Normal => print(&nvme_cli::id_ctrl::text(controller.identity())),
        Format::Json => print_json(&controller_json(controller.identity())),
    }
}

/// `joulio id-ns`.
pub fn id_ns(args: &NamespaceArgs) -> Outcome {
    let name = &args.controller.device;
    let controller = inspect(name, cancel())?;
    let nsid = args.namespace_id.unwrap_or(name.nsid);
    let namespace = controller.namespace(nsid).map_err(Failure::input)?;
    match args.controller.output.format() {
        Format::Normal => print(&nvme_cli::id_ns::text(&namespace, nsid)),
        Format::Json => print_json(&namespace_json(&namespace)),
    }
}

/// `joulio smart-log`.
pub fn smart_log(args: &ControllerArgs) -> Outcome {
    let controller = inspect(&args.device, cancel())?;
    let log = controller.smart().map_err(Failure::run)?;
    match args.output.format() {
        Format::Normal => print(&nvme_cli::smart_log::text(&log, &args.device.text)),
        Format::Json => print_json(&smart_json(&log)),
    }
}
