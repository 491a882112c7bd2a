//! Emulated devices: their parameters, creation and opening.

use crate::device_name_error::{DeviceNameError, number};
use crate::error::OpenError;
use crate::memory::check_memory;
use joulio_emulator::{
    EmulatedDevice, FaultPlan, HostMemoryDemand, NamespaceOptions, Options, StoreOptions,
};
use joulio_kernel_io::{Blocks, DirectFileError};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};
use joulio_workload::parse_size;
use rustix::fs::{Access, SeekFrom, access, seek};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Parameters of an emulated device.
#[derive(Clone, Debug, Default)]
pub struct Emulated {
    profile: String,
    file: Option<PathBuf>,
    size: Option<u64>,
    lba: Option<u32>,
    seed: Option<u64>,
    real_interrupts: bool,
    weighted_round_robin: bool,
    /// Bytes of host memory that the controller prefers (HMPRE).
    host_memory: Option<u64>,
    /// True if the memory of the namespace is allocated when the device is opened.
    prealloc: bool,
    /// Number among equal devices, from 0; each has a seed of its own.
    number: u64,
}

/// Use of a controller in this process.
#[derive(Clone, Debug, Default)]
pub struct EmulatedUse {
    /// Seed of the device if its name has none.
    pub seed: u64,
    /// Faults that the device injects.
    pub faults: FaultPlan,
    /// CPUs that the device's thread may use; empty: any.
    pub cpus: Vec<usize>,
}

impl EmulatedUse {
    /// Returns a use without faults and on any CPU.
    pub fn of_seed(seed: u64) -> EmulatedUse {
        EmulatedUse {
            seed,
            ..EmulatedUse::default()
        }
    }
}

/// Size in bytes of a namespace in memory without `size=`. One as large as the real device would fill the machine's
/// memory when it is written.
const RAM_SIZE: u64 = 1 << 30;

/// Largest host memory buffer: 4 GiB, more than any drive requests.
const MAX_HOST_MEMORY: u64 = 4 << 30;

impl Emulated {
    /// Returns a device of `profile`, a name or the path of a TOML file, without other parameters.
    pub(crate) fn of_profile(profile: &str) -> Emulated {
        Emulated {
            profile: profile.into(),
            ..Emulated::default()
        }
    }

    /// Sets the parameter `part`, such as `size=1G`.
    pub(crate) fn set(&mut self, part: &str) -> Result<(), DeviceNameError> {
        match part.split_once('=') {
            Some(("file", path)) if !path.is_empty() => self.file = Some(path.into()),
            Some(("size", size)) => {
                self.size = Some(parse_size(size).map_err(DeviceNameError::Size)?)
            }
            Some(("lba", lba)) => self.lba = Some(number(part, lba)?),
            Some(("seed", seed)) => self.seed = Some(number(part, seed)?),
            Some(("hmb", size)) => {
                let bytes = parse_size(size).map_err(DeviceNameError::Size)?;
                if bytes == 0 || bytes % 4096 != 0 || bytes > MAX_HOST_MEMORY {
                    return Err(DeviceNameError::HostMemory(part.into()));
                }
                self.host_memory = Some(bytes);
            }
            Some(("prealloc", "0")) => self.prealloc = false,
            Some(("prealloc", "1")) => self.prealloc = true,
            Some(("interrupts", "eventfd")) => self.real_interrupts = false,
            Some(("interrupts", "joulio_uintr")) => self.real_interrupts = true,
            Some(("arbitration", "rr")) => self.weighted_round_robin = false,
            Some(("arbitration", "wrr")) => self.weighted_round_robin = true,
            _ => {
                return Err(DeviceNameError::NotOfEmulated(part.into()));
            }
        }
        Ok(())
    }

    /// Returns true if the parameters exclude each other: memory is to be allocated for data in a file.
    pub(crate) fn is_impossible(&self) -> bool {
        self.prealloc && self.file.is_some()
    }

    /// Returns device `number`, from 0, of several equal ones; `None` if they would use the same file.
    pub(crate) fn numbered(self, number: u64) -> Option<Emulated> {
        let shared = self.file.is_some();
        (!shared).then_some(Emulated { number, ..self })
    }

    /// Returns true if the device's file may have data worth keeping.
    pub fn holds_data(&self) -> bool {
        // Only a regular file can hold a namespace; opening anything else may block for ever (fifo(7)).
        let Some(path) = self.file.as_ref().filter(|path| path.is_file()) else {
            return false;
        };
        let Ok(file) = File::open(path) else {
            return false;
        };
        // A file without data extents is sparse and unwritten. If the file system does not report extents, a file that
        // is not empty has data.
        match seek(&file, SeekFrom::Data(0)) {
            Ok(_) => file.metadata().is_ok_and(|meta| meta.len() > 0),
            Err(rustix::io::Errno::NXIO) => false,
            Err(_) => true,
        }
    }

    /// Returns true if the data is in the memory of the process that opens the device.
    pub fn is_in_memory(&self) -> bool {
        self.file.is_none()
    }

    /// Returns `text`, the name of this device with data in memory, extended to keep the data in the file `path`.
    pub fn text_in_file(&self, text: &str, path: &Path) -> String {
        let size = match self.size {
            Some(_) => String::new(),
            None => format!(",size={RAM_SIZE}"),
        };
        format!("{text}{size},file={}", path.display())
    }

    /// Returns the path of the file with the device's data; `None` if they are in memory.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the path of the device's file if opening the device would create it.
    pub fn missing_file(&self) -> Option<PathBuf> {
        self.file.clone().filter(|path| !path.exists())
    }

    /// Returns the path of the device's file if it exists and cannot be written.
    pub fn read_only_file(&self) -> Option<&Path> {
        let path = self.file.as_deref()?;
        (path.is_file() && access(path, Access::WRITE_OK).is_err()).then_some(path)
    }

    /// Returns an error if a loop device uses the same file.
    ///
    /// # Errors
    /// A loop device uses it: [`DirectFileError::UnderLoop`].
    pub fn check_loops(&self) -> Result<(), OpenError> {
        let Some(path) = self.file.as_deref().filter(|path| path.is_file()) else {
            return Ok(());
        };
        match Blocks::at("/").loop_sharing(path) {
            Some(device) => {
                let path = path.into();
                Err(DirectFileError::UnderLoop { path, device }.into())
            }
            None => Ok(()),
        }
    }

    /// Returns the parameter that only affects a device's data, if one was given: `file=` or `seed=`.
    pub fn of_bytes(&self) -> Option<&'static str> {
        match (&self.file, self.seed) {
            (Some(_), _) => Some("file="),
            (None, Some(_)) => Some("seed="),
            (None, None) => None,
        }
    }

    /// Returns the bytes of the namespace and of a block, from the parameters or otherwise from the profile.
    ///
    /// # Errors
    /// The size is not a multiple of the block.
    pub fn geometry(&self, profile: &DeviceProfile) -> Result<(u64, u32), OpenError> {
        self.check_size(profile)?;
        let block = self.lba.unwrap_or(profile.lba.default_bytes);
        Ok((self.size.unwrap_or(profile.capacity()), block))
    }

    /// Returns the name of the device's profile, or the path of its file.
    pub(crate) fn profile_name(&self) -> &str {
        &self.profile
    }

    /// Loads the device's profile.
    ///
    /// # Errors
    /// The profile does not exist, or its file cannot be read.
    pub fn profile(&self) -> Result<DeviceProfile, OpenError> {
        Ok(DeviceProfile::load(&self.profile)?)
    }

    /// Checks the size before a file is created that could not be used.
    fn check_size(&self, profile: &DeviceProfile) -> Result<(), OpenError> {
        let block = u64::from(self.lba.unwrap_or(profile.lba.default_bytes)).max(1);
        match self.size {
            Some(size) if size == 0 || !size.is_multiple_of(block) => {
                Err(OpenError::Size { size, block })
            }
            _ => Ok(()),
        }
    }

    /// Returns the options of the emulated controller; `seed` is used if the name has none.
    ///
    /// # Errors
    /// The profile or the size is not valid, or the namespace would take too much memory.
    pub fn options(&self, name: &str, seed: u64) -> Result<Options, OpenError> {
        let profile = self.profile()?;
        self.check_size(&profile)?;
        let mut options = Options::new(profile);
        options.name = name.into();
        // Replicates have successive seeds, and no device of one may have that of another's.
        options.seed = self.seed.unwrap_or(seed) ^ (self.number << 32);
        options.real_interrupts = self.real_interrupts;
        options.weighted_round_robin = self.weighted_round_robin;
        options.prealloc = self.prealloc;
        options.host_memory = self.host_memory.map(|preferred| HostMemoryDemand {
            preferred,
            minimum: (preferred / 8).next_multiple_of(4096),
        });
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

    /// Creates and opens the controller that the user named `name`, to be used as `here` describes.
    ///
    /// # Errors
    /// A parameter is not valid, the file cannot be used, or the controller does not become ready.
    pub fn open(
        &self,
        name: &str,
        how: ControllerOptions,
        here: EmulatedUse,
    ) -> Result<Controller<EmulatedDevice>, OpenError> {
        let mut options = self.options(name, here.seed)?;
        options.faults = here.faults;
        options.cpus = here.cpus;
        let device = EmulatedDevice::spawn(&options)?;
        Ok(Controller::open(device, how)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn no_device_has_the_seed_of_an_equal_one_in_the_next_replicate() {
        let one = Emulated {
            profile: "instant".into(),
            size: Some(1 << 20),
            ..Emulated::default()
        };
        let seed = |number, seed| {
            let emulated = one.clone().numbered(number).unwrap();
            emulated.options("emulated:instant", seed).unwrap().seed
        };
        assert_eq!(seed(0, 7), 7);
        for number in 1..4 {
            assert_ne!(seed(number, 7), seed(number - 1, 7));
            assert_ne!(seed(number, 7), seed(number - 1, 8));
        }
    }
}
