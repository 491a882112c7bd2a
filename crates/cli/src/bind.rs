//! `joulio bind` and `joulio unbind`.

use crate::Outcome;
use crate::failure::Failure;
use crate::output::print;
use joulio_device::pci::{PciAddress, Sysfs};

/// A controller to move.
#[derive(clap::Args)]
pub struct Args {
    /// PCI address: 0000:01:00.0
    address: PciAddress,
}

/// `joulio bind`.
pub fn bind(args: &Args) -> Outcome {
    let outcome = Sysfs::default()
        .bind(args.address)
        .map_err(Failure::input)?;
    print(&format!("{}: {outcome}\n", args.address))
}

/// `joulio unbind`.
pub fn unbind(args: &Args) -> Outcome {
    let outcome = Sysfs::default()
        .unbind(args.address)
        .map_err(Failure::input)?;
    print(&format!("{}: {outcome}\n", args.address))
}
