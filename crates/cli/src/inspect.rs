//! `joulio id-ctrl`, `id-ns`, `smart-log`.

use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, Output, print, print_json};
use crate::signals::cancel;
use clap::Args;
use joulio_lab::ControllerName;
use joulio_lab::inspect::{controller_json, inspect, namespace_json, smart_json};
use joulio_lab::nvme_cli;

/// A controller to inspect.
#[derive(Args)]
pub struct ControllerArgs {
    /// /dev/nvme0, emulated:PROFILE, pcie:0000:01:00.0 or vfio-user:SOCKET
    device: ControllerName,
    #[command(flatten)]
    output: Output,
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

/// Runs `joulio id-ctrl`.
pub fn id_ctrl(args: &ControllerArgs) -> Outcome {
    let controller = inspect(&args.device, cancel())?.controller;
    match args.output.format() {
        Format::Normal => print(&nvme_cli::id_ctrl::text(controller.identity())),
        Format::Json => print_json(&controller_json(controller.identity())),
    }
}

/// Runs `joulio id-ns`.
pub fn id_ns(args: &NamespaceArgs) -> Outcome {
    let inspected = inspect(&args.controller.device, cancel())?;
    let nsid = args.namespace_id.unwrap_or(inspected.nsid);
    let namespace = inspected
        .controller
        .identify_namespace(nsid)
        .map_err(Failure::input)?;
    match args.controller.output.format() {
        Format::Normal => print(&nvme_cli::id_ns::text(&namespace, nsid)),
        Format::Json => print_json(&namespace_json(&namespace)),
    }
}

/// Runs `joulio smart-log`.
pub fn smart_log(args: &ControllerArgs) -> Outcome {
    let inspected = inspect(&args.device, cancel())?;
    let log = inspected.controller.smart_log().map_err(Failure::run)?;
    match args.output.format() {
        Format::Normal => print(&nvme_cli::smart_log::text(&log, &inspected.name)),
        Format::Json => print_json(&smart_json(&log)),
    }
}
