//! `joulio-conformance`: the claims on a device, and the check of its backing file.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, Subcommand};
use joulio_conformance::{Bench, Content, IOS, STAMPS, claims, one_line, stamp_lba};
use joulio_device::Device;
use joulio_device::pci::{NoIommu, PciAddress};
use joulio_device::vfio::VfioDevice;
use joulio_device::vfio_user::VfioUserDevice;
use joulio_nvme::{Controller, ControllerOptions};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Put every claim to the test on a PCIe device; all data on it is lost
    Pcie {
        /// PCI address of the controller, bound to vfio-pci
        address: PciAddress,
        /// The namespace
        #[arg(long, default_value_t = 1)]
        nsid: u32,
        /// Seed of all random numbers
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// I/Os of a mixed run
        #[arg(long, default_value_t = IOS)]
        ios: u64,
        /// Drive it without an IOMMU, where there is none
        #[arg(long)]
        noiommu: bool,
    },
    /// Let the queues of several PCIe devices raise one line of memory; data is only read
    Line {
        /// Addresses of the controllers, bound to vfio-pci
        #[arg(required = true)]
        addresses: Vec<PciAddress>,
        /// I/Os on each queue
        #[arg(long, default_value_t = 500)]
        each: u64,
    },
    /// Put every claim to the test on a controller behind a vfio-user socket; all data on it is
    /// lost
    VfioUser {
        /// The socket
        path: PathBuf,
        /// The namespace
        #[arg(long, default_value_t = 1)]
        nsid: u32,
        /// Seed of all random numbers
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// I/Os of a mixed run
        #[arg(long, default_value_t = IOS)]
        ios: u64,
    },
    /// Check that what the last claim stamped stands in the device's backing file
    File {
        /// The file
        path: PathBuf,
        /// Bytes of a logical block
        #[arg(long, default_value_t = 512)]
        lba: usize,
        /// The seed of the run
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Pcie {
            address,
            nsid,
            seed,
            ios,
            noiommu,
        } => {
            let no_iommu = match noiommu {
                true => NoIommu::Allowed,
                false => NoIommu::Refused,
            };
            let device = VfioDevice::open_with(address, no_iommu)?;
            run(bench(device, nsid, seed)?.with_ios(ios))
        }
        Command::Line { addresses, each } => line(&addresses, each),
        Command::VfioUser {
            path,
            nsid,
            seed,
            ios,
        } => run(bench(VfioUserDevice::connect(&path)?, nsid, seed)?.with_ios(ios)),
        Command::File { path, lba, seed } => check(&path, lba, seed),
    }
}

fn bench<D: Device>(device: D, nsid: u32, seed: u64) -> Result<Bench<D>> {
    let options = ControllerOptions {
        queues: 4,
        ..ControllerOptions::default()
    };
    Bench::new(Controller::open(device, options)?, nsid, seed)
}

fn line(addresses: &[PciAddress], each: u64) -> Result<()> {
    let open = |&address| bench(VfioDevice::open(address)?, 1, 1);
    let benches = addresses.iter().map(open).collect::<Result<Vec<_>>>()?;
    let benches: Vec<_> = benches.iter().collect();
    println!("ok      one line: {}", one_line(&benches, each)?);
    Ok(())
}

fn run<D: Device>(bench: Bench<D>) -> Result<()> {
    let mut failed = 0;
    for claim in claims() {
        match (claim.check)(&bench) {
            Ok(report) => println!("ok      {}: {report}", claim.name),
            Err(error) => {
                failed += 1;
                println!("FAILED  {}: {error:#}", claim.name);
            }
        }
    }
    if failed > 0 {
        bail!("{failed} claims failed");
    }
    println!("all claims hold");
    Ok(())
}

fn check(path: &PathBuf, lba: usize, seed: u64) -> Result<()> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let mut data = vec![0; lba];
    for index in 0..STAMPS {
        let block = stamp_lba(index);
        file.read_exact_at(&mut data, block * lba as u64)?;
        let content = Content {
            seed,
            lba: block,
            generation: u64::MAX,
        };
        ensure!(
            content.is(&data),
            "{}: block {block} does not hold its stamp",
            path.display()
        );
    }
    println!("{STAMPS} stamped blocks stand in {}", path.display());
    Ok(())
}
