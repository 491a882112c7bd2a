//! Reading sysfs: the NVMe controllers of the machine, and what the kernel made of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::attributes::{Attributes, Live};
use super::{PciAddress, PciError};

/// Mass storage, non-volatile memory, NVM Express (PCI Code and ID Assignment). Programming interface 3 of the same
/// subclass is an *administrative* controller, which has no I/O queues, and is not driven.
const CLASS_NVME: u32 = 0x01_08_02;

/// A view of `/sys`, `/proc` and `/dev` below one root.
pub struct Sysfs {
    root: PathBuf,
    pub(super) attributes: Box<dyn Attributes>,
}

/// An NVMe controller on the PCI bus, with or without a driver.
///
/// Source: Documentation/ABI/testing/sysfs-bus-pci and Documentation/PCI/sysfs-pci.rst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PciNvme {
    /// PCI address.
    pub address: PciAddress,
    /// PCI vendor ID.
    pub vendor: u16,
    /// PCI device ID.
    pub device: u16,
    /// The driver of the function: the target of the link `driver`.
    pub driver: Option<String>,
    /// IOMMU group: the target of the link `iommu_group` (Documentation/ABI/testing/sysfs-kernel-iommu_groups). None
    /// without an IOMMU.
    pub iommu_group: Option<u32>,
    /// NUMA node that the controller is attached to, if the firmware reports it.
    pub numa_node: Option<u32>,
    /// The kernel's names of the controller: `nvme0`, one at most in practice.
    pub controllers: Vec<String>,
    /// The block devices of its namespaces, `nvme0n1`. With native multipath
    /// the controller itself only has hidden paths (`nvme0c1n1`): the name here
    /// is then the head's, `nvme0n1`, which is what gets mounted
    /// (Documentation/admin-guide/nvme-multipath.rst).
    pub namespaces: Vec<String>,
    /// The generic character devices of its namespaces, `ng0n1`.
    pub generics: Vec<String>,
}

impl Default for Sysfs {
    fn default() -> Self {
        Self::at("/")
    }
}

impl Sysfs {
    /// Makes a view below `root`; `/` is this machine.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self::with(root, Box::new(Live))
    }

    pub(super) fn with(root: impl Into<PathBuf>, attributes: Box<dyn Attributes>) -> Self {
        Self {
            root: root.into(),
            attributes,
        }
    }

    /// Returns every NVMe controller (class `0x010802`), sorted by address.
    ///
    /// # Errors
    /// [`PciError`] when sysfs cannot be read.
    pub fn nvme_controllers(&self) -> Result<Vec<PciNvme>, PciError> {
        let mut addresses: Vec<PciAddress> = self
            .names(&self.path("sys/bus/pci/devices"))?
            .iter()
            .filter_map(|name| name.parse().ok())
            .collect();
        addresses.sort();
        let mut found = Vec::new();
        for address in addresses {
            match self.controller(address) {
                Ok(controller) => found.push(controller),
                // Another kind of device, or one unplugged meanwhile.
                Err(PciError::NotNvme { .. } | PciError::Absent { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Reads the NVMe controller at `address`.
    ///
    /// # Errors
    /// [`PciError::Absent`] or [`PciError::NotNvme`] for another address, and [`PciError`] when
    /// sysfs cannot be read.
    pub fn controller(&self, address: PciAddress) -> Result<PciNvme, PciError> {
        let dir = self.device_dir(address);
        let Some(class) = self.text(&dir.join("class"))? else {
            return Err(PciError::Absent { address });
        };
        if hex(&class) != Some(CLASS_NVME) {
            return Err(PciError::NotNvme { address, class });
        }
        let controllers = self.names(&dir.join("nvme"))?;
        let (namespaces, generics) = self.namespaces(&dir, &controllers)?;
        Ok(PciNvme {
            address,
            vendor: self.id(&dir.join("vendor"))?,
            device: self.id(&dir.join("device"))?,
            driver: self.driver(address)?,
            iommu_group: self.group_number(&dir.join("iommu_group"))?,
            // -1 where the firmware does not report it.
            numa_node: self
                .text(&dir.join("numa_node"))?
                .and_then(|text| text.parse().ok()),
            controllers,
            namespaces,
            generics,
        })
    }

    /// Lists the block and the generic devices below the controllers of `dir`.
    fn namespaces(
        &self,
        dir: &Path,
        controllers: &[String],
    ) -> Result<(Vec<String>, Vec<String>), PciError> {
        let (mut blocks, mut generics) = (Vec::new(), Vec::new());
        for controller in controllers {
            for name in self.names(&dir.join("nvme").join(controller))? {
                if let Some(namespace) = Namespace::parse(&name) {
                    let generic = namespace.generic();
                    if self.path("sys/class/nvme-generic").join(&generic).exists() {
                        generics.push(generic);
                    }
                    blocks.push(namespace.block());
                } else if name.starts_with("ng") {
                    generics.push(name);
                }
            }
        }
        Ok((in_order(blocks), in_order(generics)))
    }

    /// Returns the driver that has the device now.
    pub(super) fn driver(&self, address: PciAddress) -> Result<Option<String>, PciError> {
        self.link_name(&self.device_dir(address).join("driver"))
    }

    pub(super) fn device_dir(&self, address: PciAddress) -> PathBuf {
        self.path("sys/bus/pci/devices").join(address.to_string())
    }

    /// Returns the path of `below` (no leading slash) under the root.
    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// Reads an attribute, trimmed; `None` if it does not exist.
    pub(super) fn text(&self, path: &Path) -> Result<Option<String>, PciError> {
        let bytes = present(path, fs::read(path))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()))
    }

    /// Returns the last part of a link's target; `None` if the link does not exist.
    pub(super) fn link_name(&self, path: &Path) -> Result<Option<String>, PciError> {
        let target = present(path, fs::read_link(path))?;
        Ok(target.and_then(|t| Some(t.file_name()?.to_string_lossy().into_owned())))
    }

    /// Lists the entries of a directory, sorted; none if it does not exist.
    pub(super) fn names(&self, dir: &Path) -> Result<Vec<String>, PciError> {
        let mut names = Vec::new();
        for entry in present(dir, fs::read_dir(dir))?.into_iter().flatten() {
            let entry = entry.map_err(|error| PciError::io("read", dir, error))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        Ok(in_order(names))
    }

    fn group_number(&self, path: &Path) -> Result<Option<u32>, PciError> {
        let Some(text) = self.link_name(path)? else {
            return Ok(None);
        };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(malformed(path, text, "the number of a group")),
        }
    }

    /// Reads a vendor or device identifier.
    pub(crate) fn id(&self, path: &Path) -> Result<u16, PciError> {
        let text = self.text(path)?.unwrap_or_default();
        match hex(&text).and_then(|id| u16::try_from(id).ok()) {
            Some(id) => Ok(id),
            None => Err(malformed(path, text, "a PCI ID like 0x144d")),
        }
    }
}

fn malformed(path: &Path, text: String, wanted: &'static str) -> PciError {
    PciError::Malformed {
        path: path.to_owned(),
        text,
        wanted,
    }
}

/// Turns the error of a missing file into `None`.
fn present<T>(path: &Path, result: io::Result<T>) -> Result<Option<T>, PciError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(PciError::io("read", path, error)),
    }
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Sorts `nvme0n2` before `nvme0n10` and removes duplicates.
fn in_order(mut names: Vec<String>) -> Vec<String> {
    names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    names.dedup();
    names
}

/// Parts of the name of a namespace's block device: `nvmeAnN`, or of a multipath path, `nvmeAcCnN`, where A is the
/// subsystem and C the controller.
struct Namespace<'a> {
    instance: &'a str,
    number: &'a str,
}

impl<'a> Namespace<'a> {
    fn parse(name: &'a str) -> Option<Self> {
        let (front, number) = name.strip_prefix("nvme")?.rsplit_once('n')?;
        let (instance, path) = front.split_once('c').unwrap_or((front, "0"));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        (digits(instance) && digits(path) && digits(number)).then_some(Self { instance, number })
    }

    fn block(&self) -> String {
        format!("nvme{}n{}", self.instance, self.number)
    }

    fn generic(&self) -> String {
        format!("ng{}n{}", self.instance, self.number)
    }
}
