//! Device names, and opening what they name.
//!
//! `emulated:PROFILE[,file=PATH][,size=BYTES][,lba=512|4096][,seed=N][,interrupts=joulio_uintr]`, `pcie:ADDRESS[,nsid=N]`,
//! or `vfio-user:SOCKET[,nsid=N]`.

use crate::failure::Failure;
use joulio_device::pci::PciAddress;
use joulio_device::vfio::VfioDevice;
use joulio_device::vfio_user::VfioUserDevice;
use joulio_emulator::{EmulatedDevice, FaultPlan, NamespaceOptions, Options, StoreOptions};
use joulio_kernel_io::{Blocks, TargetError};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};
use joulio_workload::parse_size;
use rustix::fs::{Access, SeekFrom, access, seek};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A device as `--device` names it.
#[derive(Clone, Debug)]
pub struct DeviceName {
    /// As it was written.
    pub text: String,
    /// The namespace.
    pub nsid: u32,
    pub kind: Kind,
}

/// What kind of device.
#[derive(Clone, Debug)]
pub enum Kind {
    /// The emulated controller in this process.
    Emulated(Emulated),
    /// A PCIe function bound to vfio-pci.
    Pcie(PciAddress),
    /// A controller in another process, at a vfio-user socket.
    VfioUser(PathBuf),
}

/// An emulated device's parameters.
#[derive(Clone, Debug, Default)]
pub struct Emulated {
    profile: String,
    file: Option<PathBuf>,
    size: Option<u64>,
    lba: Option<u32>,
    seed: Option<u64>,
    real_interrupts: bool,
}

/// A namespace in memory is this large unless `size=` says otherwise: writing to one as large as
/// the real device would fill the machine's memory.
const RAM_SIZE: u64 = 1 << 30;

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(text: &str) -> Result<DeviceName, String> {
        let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut parts = rest.split(',');
        let first = parts.next().unwrap_or_default();
        let mut nsid = 1;
        let kind = match scheme {
            "emulated" => {
                let mut emulated = Emulated {
                    profile: if first.is_empty() {
                        "optane-900p"
                    } else {
                        first
                    }
                    .into(),
                    ..Emulated::default()
                };
                for part in once(parts)? {
                    emulated.set(part)?;
                }
                Kind::Emulated(emulated)
            }
            "pcie" => {
                let address = first.parse().map_err(|e| format!("{e}"))?;
                nsid = only_nsid("pcie", parts)?;
                Kind::Pcie(address)
            }
            "vfio-user" => {
                if first.is_empty() {
                    return Err(format!(
                        "'{text}': a vfio-user device takes a socket's path"
                    ));
                }
                nsid = only_nsid("vfio-user", parts)?;
                Kind::VfioUser(first.into())
            }
            _ => {
                return Err(format!(
                    "'{text}' is not a device: emulated:PROFILE, pcie:0000:01:00.0 or vfio-user:SOCKET"
                ));
            }
        };
        Ok(DeviceName {
            text: text.into(),
            nsid,
            kind,
        })
    }
}

/// The namespace, the only parameter of a device that is not emulated here.
fn only_nsid<'a>(kind: &str, parts: impl Iterator<Item = &'a str>) -> Result<u32, String> {
    let mut nsid = 1;
    for part in once(parts)? {
        match part.split_once('=') {
            Some(("nsid", n)) => nsid = number(part, n)?,
            _ => return Err(format!("'{part}': a {kind} device takes nsid=N")),
        }
    }
    Ok(nsid)
}

/// The parameters, each of which may be there once.
fn once<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Vec<&'a str>, String> {
    let parts: Vec<_> = parts.collect();
    fn key(part: &str) -> Option<&str> {
        part.split_once('=').map(|(key, _)| key)
    }
    for (at, part) in parts.iter().enumerate() {
        let again = |before: &&str| key(before).is_some() && key(before) == key(part);
        if let Some(before) = parts[..at].iter().find(|before| again(before)) {
            return Err(format!("'{before}' and '{part}': give one of them"));
        }
    }
    Ok(parts)
}

fn number<T: FromStr>(part: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{part}': not a number"))
}

impl Emulated {
    fn set(&mut self, part: &str) -> Result<(), String> {
        match part.split_once('=') {
            Some(("file", path)) if !path.is_empty() => self.file = Some(path.into()),
            Some(("size", size)) => self.size = Some(parse_size(size)?),
            Some(("lba", lba)) => self.lba = Some(number(part, lba)?),
            Some(("seed", seed)) => self.seed = Some(number(part, seed)?),
            Some(("interrupts", "eventfd")) => self.real_interrupts = false,
            Some(("interrupts", "joulio_uintr")) => self.real_interrupts = true,
            _ => {
                return Err(format!(
                    "'{part}': an emulated device takes file=PATH, size=BYTES, lba=512|4096, seed=N, \
                     interrupts=eventfd|joulio_uintr"
                ));
            }
        }
        Ok(())
    }

    /// Whether it has data that somebody may want to keep.
    pub fn holds_data(&self) -> bool {
        // Only a regular file can hold a namespace; opening another thing may wait for ever (fifo(7)).
        let Some(path) = self.file.as_ref().filter(|path| path.is_file()) else {
            return false;
        };
        let Ok(file) = File::open(path) else {
            return false;
        };
        // No extent with data: sparse all through, as it was created. Where the file system does
        // not tell, a file that is not empty has data.
        match seek(&file, SeekFrom::Data(0)) {
            Ok(_) => file.metadata().is_ok_and(|meta| meta.len() > 0),
            Err(rustix::io::Errno::NXIO) => false,
            Err(_) => true,
        }
    }

    /// Its file, where opening would create it.
    pub fn missing_file(&self) -> Option<PathBuf> {
        self.file.clone().filter(|path| !path.exists())
    }

    /// Its file, where that is there and cannot be written to.
    pub fn read_only_file(&self) -> Option<&Path> {
        let path = self.file.as_deref()?;
        (path.is_file() && access(path, Access::WRITE_OK).is_err()).then_some(path)
    }

    /// Refuses to write to a file whose data a loop device has.
    ///
    /// # Errors
    /// One has.
    pub fn check_loops(&self) -> Result<(), Failure> {
        let Some(path) = self.file.as_deref().filter(|path| path.is_file()) else {
            return Ok(());
        };
        match Blocks::at("/").loop_sharing(path) {
            Some(device) => Err(Failure::input(TargetError::UnderLoop {
                path: path.into(),
                device,
            })),
            None => Ok(()),
        }
    }

    /// What it was given that only a device of bytes has: the file or the seed.
    pub fn of_bytes(&self) -> Option<&'static str> {
        match (&self.file, self.seed) {
            (Some(_), _) => Some("file="),
            (None, Some(_)) => Some("seed="),
            (None, None) => None,
        }
    }

    /// Bytes of its namespace and of a block, as they were asked for or the profile has them.
    pub fn geometry(&self, profile: &DeviceProfile) -> Result<(u64, u32), Failure> {
        self.check_size(profile)?;
        let block = self.lba.unwrap_or(profile.lba.default_bytes);
        Ok((self.size.unwrap_or(profile.capacity()), block))
    }

    /// Its profile.
    pub fn profile(&self) -> Result<DeviceProfile, Failure> {
        DeviceProfile::load(&self.profile).map_err(Failure::input)
    }

    /// Before a file of a size that is of no use is created.
    fn check_size(&self, profile: &DeviceProfile) -> Result<(), Failure> {
        let block = u64::from(self.lba.unwrap_or(profile.lba.default_bytes)).max(1);
        match self.size {
            Some(size) if size == 0 || !size.is_multiple_of(block) => Err(Failure::input(format!(
                "size={size}: must be a multiple of the block of {block} bytes, and above zero"
            ))),
            _ => Ok(()),
        }
    }

    /// What the controller is made of; without a seed of its own, it has `seed`.
    pub fn options(&self, name: &str, seed: u64) -> Result<Options, Failure> {
        let profile = self.profile()?;
        self.check_size(&profile)?;
        let mut options = Options::new(profile);
        options.name = name.into();
        options.seed = self.seed.unwrap_or(seed);
        options.real_interrupts = self.real_interrupts;
        let store = match &self.file {
            Some(path) => StoreOptions::File {
                path: path.clone(),
                bytes: self.size,
                read_only: self.read_only_file().is_some(),
            },
            None => {
                let bytes = self
                    .size
                    .unwrap_or(RAM_SIZE.min(options.profile.capacity()));
                check_memory("a namespace", bytes, "use a smaller size=, or file=PATH")?;
                StoreOptions::Ram { bytes: Some(bytes) }
            }
        };
        options.namespaces = vec![NamespaceOptions {
            store,
            block: self.lba,
        }];
        Ok(options)
    }

    /// Makes the controller, which commits `faults`, and opens it.
    pub fn open(
        &self,
        name: &DeviceName,
        how: ControllerOptions,
        seed: u64,
        faults: &FaultPlan,
    ) -> Result<Controller<EmulatedDevice>, Failure> {
        let mut options = self.options(&name.text, seed)?;
        options.faults = faults.clone();
        let device = EmulatedDevice::spawn(&options).map_err(Failure::input)?;
        Controller::open(device, how).map_err(Failure::input)
    }
}

/// Opens the PCIe function at `address`.
pub fn open_pcie(
    address: PciAddress,
    how: ControllerOptions,
) -> Result<Controller<VfioDevice>, Failure> {
    let device = VfioDevice::open(address).map_err(Failure::input)?;
    Controller::open(device, how).map_err(Failure::input)
}

/// Opens the controller at the socket `path`.
pub fn open_vfio_user(
    path: &Path,
    how: ControllerOptions,
) -> Result<Controller<VfioUserDevice>, Failure> {
    let device = VfioUserDevice::connect(path).map_err(Failure::input)?;
    Controller::open(device, how).map_err(Failure::input)
}

/// Refuses what could fill more than half of the memory that is free.
pub fn check_memory(what: &str, bytes: u64, remedy: &str) -> Result<(), Failure> {
    let meminfo = std::fs::read_to_string(Path::new("/proc/meminfo")).unwrap_or_default();
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    match kib {
        Some(kib) if bytes / 1024 > kib / 2 => Err(Failure::input(format!(
            "{what} of {bytes} bytes would not fit into half of the {} MiB of free memory: {remedy}",
            kib / 1024
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_whole_or_refused() {
        for good in [
            "emulated:instant",
            "emulated:optane-900p,file=/tmp/x.img,size=1G,lba=4096,seed=7",
            "pcie:0000:01:00.0",
            "pcie:01:00.0,nsid=2",
            "vfio-user:/run/nvme.sock",
            "vfio-user:nvme.sock,nsid=3",
        ] {
            assert!(good.parse::<DeviceName>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "nvme0",
            "emulated:instant,fiel=x",
            "emulated:instant,lba=x",
            "pcie:zz",
            "pcie:0000:01:00.0,nsid=x",
            "vfio-user:",
            "vfio-user:/run/nvme.sock,lba=512",
            "emulated:instant,size=1M,size=2M",
            "emulated:instant,size=1M,seed=1,size=1M",
            "emulated:instant,file=a,file=b",
            "emulated:instant,interrupts=eventfd,interrupts=eventfd",
            "pcie:0000:01:00.0,nsid=1,nsid=2",
            "vfio-user:nvme.sock,nsid=1,nsid=1",
        ] {
            let error = bad.parse::<DeviceName>().unwrap_err();
            assert!(!error.contains('\n') && !error.is_empty(), "{bad}");
        }
    }

    #[test]
    fn a_sparse_file_holds_no_data_and_a_written_one_does() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let emulated = Emulated {
            file: Some(file.path().into()),
            ..Emulated::default()
        };
        assert!(!emulated.holds_data());
        file.as_file().set_len(1 << 20).unwrap();
        assert!(!emulated.holds_data());
        std::fs::write(file.path(), [1; 512]).unwrap();
        assert!(emulated.holds_data());
    }
}
