//! `joulio list`.

use crate::Outcome;
use crate::columns::columns;
use crate::failure::Failure;
use crate::output::{Format, Output, print, print_json, terminal_width};
use crate::signals::cancel;
use joulio_lab::ControllerName;
use joulio_lab::inspect::{ListError, NamespaceInfo, namespaces};
use joulio_lab::nvme_cli::list::{TITLES, cells, json, table};
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
        false => print(&text(&rows))?,
    }
    if args.devices.is_empty() {
        let names: Vec<_> = DeviceProfile::names()
            .map(|name| format!("emulated:{name}"))
            .collect();
        print(&format!("\nOn any machine: {}\n", names.join(", ")))?;
    }
    Ok(())
}

/// Returns the table of `nvme list`. On a narrow terminal, where nvme-cli's lines would break in the middle, the
/// columns are reordered.
fn text(rows: &[NamespaceInfo]) -> String {
    let table = table(rows);
    let width = table.lines().next().map_or(0, |line| line.chars().count());
    if terminal_width().is_none_or(|terminal| terminal >= width) {
        return table;
    }
    let titles = [0, 3, 4, 5, 6, 7, 2, 1];
    // Blanks that align sizes are removed too.
    let plain = |cell: &str| cell.split_whitespace().collect::<Vec<_>>().join(" ");
    let rows = rows.iter().map(cells);
    let rows = rows.map(|cells| titles.map(|title| plain(&cells[title])));
    columns(titles.map(|title| TITLES[title]), rows, 2)
}
