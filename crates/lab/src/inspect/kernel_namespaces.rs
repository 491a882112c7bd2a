//! Namespaces of the kernel's driver, from sysfs.

use super::NamespaceInfo;
use joulio_device::pci::{PciNvme, Sysfs};
use joulio_nvme_spec::ascii;
use std::fs;
use std::path::{Path, PathBuf};

/// A namespace of the kernel's driver.
pub(super) struct KernelNamespace {
    /// Character device of a controller of the namespace.
    pub controller: PathBuf,
    /// Namespace identifier.
    pub nsid: u32,
}

impl KernelNamespace {
    /// Returns the namespace whose block device is `path`; `None` if it is not an NVMe namespace.
    pub(super) fn of(path: &Path) -> Option<KernelNamespace> {
        let name = file_name(path);
        let machine = Sysfs::default().nvme_controllers().ok()?;
        let has_it = |one: &&PciNvme| one.namespaces.iter().any(|namespace| namespace == name);
        let controller = machine.iter().find(has_it)?.controllers.first()?;
        let nsid = fs::read_to_string(format!("/sys/block/{name}/nsid")).ok()?;
        Some(KernelNamespace {
            controller: Path::new("/dev").join(controller),
            nsid: nsid.trim().parse().ok()?,
        })
    }
}

/// Returns the name of a device in its directory: `nvme0` for `/dev/nvme0`.
pub(super) fn file_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

/// Returns the description of a namespace of the kernel's driver (Documentation/ABI/stable/sysfs-block).
pub(super) fn namespace_info(controller: &PciNvme, namespace: &str) -> NamespaceInfo {
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
    NamespaceInfo {
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
