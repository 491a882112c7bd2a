//! A fake machine of plain files, and a fake kernel that reacts to writes to them.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use super::attributes::Attributes;
use super::{PciAddress, Sysfs};

/// A machine below a temporary root.
pub(super) struct Machine {
    dir: TempDir,
    kernel: Arc<Kernel>,
}

/// Behaviour of the fake kernel, and the writes it received.
#[derive(Default)]
struct Kernel {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    writes: Vec<(String, String)>,
    denied: HashMap<String, i32>,
    busy: HashSet<String>,
    refusing: HashSet<String>,
}

impl Machine {
    /// Makes a machine with the drivers `nvme` and `vfio-pci`, a root disk elsewhere, and no controller.
    pub(super) fn new() -> Self {
        let machine = Self {
            dir: tempfile::tempdir().unwrap(),
            kernel: Arc::default(),
        };
        machine.file("sys/bus/pci/drivers/nvme/unbind", "");
        machine.file("sys/bus/pci/drivers/vfio-pci/unbind", "");
        machine.file("sys/bus/pci/drivers_probe", "");
        machine.file(
            "proc/1/mountinfo",
            "21 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n",
        );
        machine.file("proc/swaps", "Filename\t\t\tType\t\tSize\tUsed\tPriority\n");
        machine
    }

    /// Makes a machine with one controller under `nvme`, in group 7, and its disk `nvme0n1`
    /// with the partitions 1 and 2.
    pub(super) fn with_disk() -> (Self, PciAddress) {
        let machine = Self::new();
        let address = machine.function("0000:01:00.0", "0x010802", Some("nvme"), Some(7));
        machine.dir(&format!("{}/nvme/nvme0/nvme0n1", device(address)));
        machine.dir(&format!("{}/nvme/nvme0/ng0n1", device(address)));
        machine.dir(&format!("{}/nvme/nvme0/hwmon3", device(address)));
        machine.block("nvme0n1", "259:0");
        machine.partition("nvme0n1", "nvme0n1p1", "259:1");
        machine.partition("nvme0n1", "nvme0n1p2", "259:2");
        (machine, address)
    }

    pub(super) fn sysfs(&self) -> Sysfs {
        Sysfs::with(self.dir.path(), Box::new(Arc::clone(&self.kernel)))
    }

    pub(super) fn function(
        &self,
        address: &str,
        class: &str,
        driver: Option<&str>,
        group: Option<u32>,
    ) -> PciAddress {
        let address: PciAddress = address.parse().unwrap();
        let dir = device(address);
        self.file(&format!("{dir}/class"), &format!("{class}\n"));
        self.file(&format!("{dir}/vendor"), "0x144d\n");
        self.file(&format!("{dir}/device"), "0xa80a\n");
        self.file(&format!("{dir}/numa_node"), "-1\n");
        self.file(&format!("{dir}/driver_override"), "(null)\n");
        if let Some(driver) = driver {
            self.link(
                &format!("{dir}/driver"),
                &format!("../../../../bus/pci/drivers/{driver}"),
            );
        }
        if let Some(group) = group {
            self.link(
                &format!("{dir}/iommu_group"),
                &format!("../../../../kernel/iommu_groups/{group}"),
            );
            self.link(
                &format!("sys/kernel/iommu_groups/{group}/devices/{address}"),
                &format!("../../../../bus/pci/devices/{address}"),
            );
        }
        address
    }

    pub(super) fn block(&self, name: &str, number: &str) {
        self.file(&format!("sys/class/block/{name}/dev"), number);
        self.dir(&format!("sys/class/block/{name}/holders"));
        self.file(&format!("dev/{name}"), "");
    }

    pub(super) fn partition(&self, disk: &str, name: &str, number: &str) {
        self.block(name, number);
        self.file(&format!("sys/class/block/{disk}/{name}/partition"), "1");
    }

    pub(super) fn hold(&self, below: &str, by: &str, number: &str) {
        self.block(by, number);
        self.link(
            &format!("sys/class/block/{below}/holders/{by}"),
            &format!("../../{by}"),
        );
    }

    pub(super) fn process(&self, pid: u32, command: &str, file: &str) {
        self.file(&format!("proc/{pid}/comm"), &format!("{command}\n"));
        self.link(&format!("proc/{pid}/fd/9"), file);
    }

    pub(super) fn append(&self, path: &str, line: &str) {
        let text = fs::read_to_string(self.dir.path().join(path)).unwrap();
        self.file(path, &format!("{text}{line}\n"));
    }

    pub(super) fn file(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn link(&self, path: &str, target: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    pub(super) fn dir(&self, path: &str) {
        fs::create_dir_all(self.dir.path().join(path)).unwrap();
    }

    pub(super) fn remove(&self, path: &str) {
        let path = self.dir.path().join(path);
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    /// Makes writing to (or claiming) this path fail with this errno.
    pub(super) fn deny(&self, path: &str, errno: rustix::io::Errno) {
        let mut state = self.kernel.state.lock().unwrap();
        state.denied.insert(path.to_owned(), errno.raw_os_error());
    }

    /// Makes this disk claimed by somebody.
    pub(super) fn busy(&self, disk: &str) {
        let mut state = self.kernel.state.lock().unwrap();
        state.busy.insert(disk.to_owned());
    }

    /// Makes the probe of this driver fail.
    pub(super) fn refuse(&self, driver: &str) {
        let mut state = self.kernel.state.lock().unwrap();
        state.refusing.insert(driver.to_owned());
    }

    /// Returns the writes so far: the last part of each path, and the value.
    pub(super) fn writes(&self) -> Vec<(String, String)> {
        self.kernel.state.lock().unwrap().writes.clone()
    }

    pub(super) fn driver_override(&self, address: PciAddress) -> String {
        let path = self.dir.path().join(device(address));
        fs::read_to_string(path.join("driver_override")).unwrap()
    }
}

/// Returns the directory of a function, below the root.
pub(super) fn device(address: PciAddress) -> String {
    format!("sys/bus/pci/devices/{address}")
}

impl State {
    fn allowed(&self, path: &Path) -> io::Result<()> {
        match self
            .denied
            .iter()
            .find(|(denied, _)| path.ends_with(denied))
        {
            Some((_, errno)) => Err(io::Error::from_raw_os_error(*errno)),
            None => Ok(()),
        }
    }
}

/// Whether `device` has a group; VFIO makes one up in its no-IOMMU mode.
fn has_group(device: &Path) -> io::Result<bool> {
    let link = device.join("iommu_group");
    let sys = device.ancestors().nth(4).unwrap();
    let mode = sys.join("module/vfio/parameters/enable_unsafe_noiommu_mode");
    if link.is_symlink() || fs::read_to_string(mode).ok().as_deref() != Some("Y\n") {
        return Ok(link.is_symlink());
    }
    fs::create_dir_all(sys.join("kernel/iommu_groups/0"))?;
    fs::write(sys.join("kernel/iommu_groups/0/name"), "vfio-noiommu\n")?;
    symlink("../../../../kernel/iommu_groups/0", link)?;
    Ok(true)
}

impl Attributes for Arc<Kernel> {
    fn write(&self, path: &Path, value: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.allowed(path)?;
        let value = String::from_utf8(value.to_vec()).unwrap();
        fs::metadata(path)?;
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        state.writes.push((name.clone(), value.clone()));
        match name.as_str() {
            "driver_override" if value == "\n" => fs::write(path, "(null)\n"),
            "driver_override" => fs::write(path, format!("{value}\n")),
            "unbind" => {
                let drivers = path.parent().unwrap().parent().unwrap();
                fs::remove_file(drivers.join("../devices").join(value).join("driver"))
            }
            "drivers_probe" => {
                let bus = path.parent().unwrap();
                let device = bus.join("devices").join(value);
                let wanted = fs::read_to_string(device.join("driver_override"))?;
                let wanted = match wanted.trim() {
                    "(null)" => "nvme",
                    name => name,
                };
                let there = bus.join("drivers").join(wanted).exists()
                    && (wanted != "vfio-pci" || has_group(&device)?);
                if there && !state.refusing.contains(wanted) {
                    let target = format!("../../../../bus/pci/drivers/{wanted}");
                    symlink(target, device.join("driver"))?;
                }
                Ok(())
            }
            other => panic!("nobody should write {other}"),
        }
    }

    fn claim(&self, node: &Path) -> io::Result<File> {
        let state = self.state.lock().unwrap();
        state.allowed(node)?;
        if state.busy.iter().any(|disk| node.ends_with(disk)) {
            return Err(rustix::io::Errno::BUSY.into());
        }
        File::open(node)
    }
}
