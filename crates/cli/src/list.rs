//! `joulio list`.

use crate::Outcome;
use crate::failure::Failure;
use crate::nvme_cli::list::{json, table};
use crate::output::{Format, Output, print, print_json};
use crate::signals::cancel;
use joulio_lab::ControllerName;
use joulio_lab::inspect::{ListError, namespaces};
use joulio_model::DeviceProfile;

/// Flags of `list`.
#[derive(clap::Args)]
pub struct ListArgs {
    /// Devices to open and list. Default: those of this machine
    devices: Vec<ControllerName>,
    #[command(flatten)]
    output: Output,
}

/// Runs `joulio list`.
pub fn run(args: &ListArgs) -> Outcome {
    let rows = namespaces(&args.devices, &cancel()).map_err(|error| match error {
        error @ ListError::NotNvme(_) => Failure::input(error),
        ListError::Open(error) => Failure::input(error),
        error => Failure::run(error),
    })?;
    if args.output.format() == Format::Json {
        return print_json(&json(&rows));
    }
    match rows.is_empty() {
        true => print("No NVMe namespace on this machine.\n")?,
        false => print(&table(&rows))?,
    }
    if args.devices.is_empty() {
        let names: Vec<_> = DeviceProfile::names()
            .map(|name| format!("emulated:{name}"))
            .collect();
        print(&format!("\nOn any machine: {}\n", names.join(", ")))?;
    }
    Ok(())
}
