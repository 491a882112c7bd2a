//! `joulio list`.

use crate::Outcome;
use crate::failure::Failure;
use crate::inspect::{self, Inspect};
use crate::nvme_cli::list::{ListRow, json, table};
use crate::output::{Format, Output, print, print_json};
use joulio_device::pci::{PciNvme, Sysfs};
use joulio_lab::DeviceName;
use joulio_model::DeviceProfile;
use joulio_nvme_spec::ascii;
use std::fs;

/// What to list.
#[derive(clap::Args)]
pub struct Args {
    /// Devices to open and list; without any, what this machine has
    devices: Vec<DeviceName>,
    #[command(flatten)]
    output: Output,
}

/// `joulio list`.
pub fn run(args: &Args) -> Outcome {
    let mut rows = Vec::new();
    for name in &args.devices {
        rows.extend(opened(&name.text, &*inspect::open(name)?)?);
    }
    if args.devices.is_empty() {
        for controller in Sysfs::default().nvme_controllers().map_err(Failure::run)? {
            rows.extend(of_machine(&controller)?);
        }
    }
    if args.output.format == Format::Json {
        return print_json(&json(&rows));
    }
    print(&table(&rows))?;
    if args.devices.is_empty() {
        let names: Vec<_> = DeviceProfile::names()
            .map(|name| format!("emulated:{name}"))
            .collect();
        print(&format!("\nOn any machine: {}\n", names.join(", ")))?;
    }
    Ok(())
}

/// A controller of this machine: the kernel's by sysfs, one on vfio-pci by asking it.
fn of_machine(controller: &PciNvme) -> Result<Vec<ListRow>, Failure> {
    if controller.driver.as_deref() == Some("vfio-pci") {
        let text = format!("pcie:{}", controller.address);
        let name: DeviceName = text.parse().map_err(Failure::run)?;
        return match inspect::open(&name) {
            Ok(device) => opened(&text, &*device),
            // Somebody uses it: that is worth a row, not an error.
            Err(_) => Ok(vec![ListRow {
                node: text,
                model: "(in use)".into(),
                ..ListRow::default()
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
fn kernels(controller: &PciNvme, namespace: &str) -> ListRow {
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
    ListRow {
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

fn opened(node: &str, device: &dyn Inspect) -> Result<Vec<ListRow>, Failure> {
    let identity = device.identity();
    let active = device.active().map_err(Failure::run)?;
    active
        .into_iter()
        .map(|nsid| {
            let namespace = device.namespace(nsid).map_err(Failure::run)?;
            let format = namespace.format();
            let bytes = |blocks: u64| blocks.checked_shl(format.lbads.into()).unwrap_or(0);
            Ok(ListRow {
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
