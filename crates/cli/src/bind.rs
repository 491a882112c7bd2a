//! `joulio bind` and `joulio unbind`.

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::print;
use joulio_device::pci::{NoIommu, PciAddress, PciError, Sysfs};
use std::collections::BTreeMap;

/// Controllers to give back.
#[derive(clap::Args)]
pub struct UnbindArgs {
    /// PCI addresses: 0000:01:00.0
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<PciAddress>,
}

/// Controllers to move.
#[derive(clap::Args)]
pub struct BindArgs {
    /// PCI addresses: 0000:01:00.0
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<PciAddress>,
    /// Bind a controller that has no IOMMU. It can then read and write all memory of this machine, and a wrong
    /// address corrupts it (VFIO's no-IOMMU mode; the device is then pcie:ADDRESS,noiommu)
    #[arg(long)]
    noiommu: bool,
}

/// Runs `joulio bind`.
pub fn bind(args: &BindArgs) -> Outcome {
    let sysfs = Sysfs::default();
    let no_iommu = match args.noiommu {
        true => NoIommu::Allowed,
        false => NoIommu::Refused,
    };
    let mut groups = BTreeMap::new();
    for address in &args.addresses {
        let moved = !groups.is_empty();
        let outcome = sysfs
            .bind_with(*address, no_iommu)
            .map_err(|error| failure(error, moved))?;
        print(&format!("{address}: {outcome}\n"))?;
        if outcome.group().no_iommu {
            say(&NoIommu::danger(*address));
        }
        groups.insert(outcome.group().number, outcome.group().clone());
    }
    for (number, group) in groups {
        let held = sysfs.group_held_by(number).map_err(Failure::run)?;
        if !held.is_empty() {
            let held: Vec<String> = held.iter().map(ToString::to_string).collect();
            say(&format!(
                "{group} can be opened once {} is bound to vfio-pci as well",
                held.join(", ")
            ));
        }
    }
    Ok(())
}

/// Runs `joulio unbind`.
pub fn unbind(args: &UnbindArgs) -> Outcome {
    let sysfs = Sysfs::default();
    for (index, address) in args.addresses.iter().enumerate() {
        let outcome = sysfs.unbind(*address);
        let outcome = outcome.map_err(|error| failure(error, index > 0))?;
        print(&format!("{address}: {outcome}\n"))?;
    }
    Ok(())
}

/// Returns the failure for `error`; its status depends on whether controllers were already moved.
fn failure(error: PciError, moved: bool) -> Failure {
    match moved {
        true => Failure::run(error),
        false => Failure::input(error),
    }
}
