//! Emulated devices: their parameters, and making and opening them.

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

/// The parameters of an emulated device.
#[derive(Clone, Debug, Default)]
pub struct Emulated {
    profile: String,
    file: Option<PathBuf>,
    size: Option<u64>,
    lba: Option<u32>,
    seed: Option<u64>,
    real_interrupts: bool,
    weighted_round_robin: bool,
    /// Bytes of the host's memory that it prefers.
    host_memory: Option<u64>,
    /// Number among equal devices, from 0, by which their seeds differ.
    number: u64,
}

/// Use of a controller in this process.
#[derive(Clone, Debug, Default)]
pub struct EmulatedUse {
    /// Seed of the device where its name gives none.
    pub seed: u64,
    /// Faults that it commits.
    pub faults: FaultPlan,
    /// CPUs that its thread may use; none: any.
    pub cpus: Vec<usize>,
}

impl EmulatedUse {
    /// Use without faults, on any CPU.
    pub fn of_seed(seed: u64) -> EmulatedUse {
        EmulatedUse {
            seed,
            ..EmulatedUse::default()
        }
    }
}

/// Size in bytes of a namespace in memory without `size=`: writing to one as large as the real device would fill the
/// machine's memory.
const RAM_SIZE: u64 = 1 << 30;

/// More than any drive asks for: 4 GiB.
const MAX_HOST_MEMORY: u64 = 4 << 30;

impl Emulated {
    /// A device of `profile`, a name or a path to a TOML file, without other parameters.
    pub(crate) fn of_profile(profile: &str) -> Emulated {
        Emulated {
            profile: profile.into(),
            ..Emulated::default()
        }
    }

    /// Takes `part`, as `size=1G`.
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

    /// Device `number`, from 0, of several equal ones; `None` where they would share a file.
    pub(crate) fn numbered(self, number: u64) -> Option<Emulated> {
        let shared = self.file.is_some();
        (!shared).then_some(Emulated { number, ..self })
    }

    /// Returns true if its file has data that may be of value.
    pub fn holds_data(&self) -> bool {
        // Only a regular file can hold a namespace; opening another thing may wait for ever
        // (fifo(7)).
        let Some(path) = self.file.as_ref().filter(|path| path.is_file()) else {
            return false;
        };
        let Ok(file) = File::open(path) else {
            return false;
        };
        // No extent with data: sparse all through, as it was created. Where the file system does
        // not say, a file that is not empty has data.
        match seek(&file, SeekFrom::Data(0)) {
            Ok(_) => file.metadata().is_ok_and(|meta| meta.len() > 0),
            Err(rustix::io::Errno::NXIO) => false,
            Err(_) => true,
        }
    }

    /// True if its data are in the memory of the process that opens it.
    pub fn is_in_memory(&self) -> bool {
        self.file.is_none()
    }

    /// The name `text` of this device, which has its data in memory, with its data in the file `path`.
    pub fn text_in_file(&self, text: &str, path: &Path) -> String {
        let size = match self.size {
            Some(_) => String::new(),
            None => format!(",size={RAM_SIZE}"),
        };
        format!("{text}{size},file={}", path.display())
    }

    /// Path of its file, where opening would create it.
    pub fn missing_file(&self) -> Option<PathBuf> {
        self.file.clone().filter(|path| !path.exists())
    }

    /// Path of its file, where that exists and cannot be written to.
    pub fn read_only_file(&self) -> Option<&Path> {
        let path = self.file.as_deref()?;
        (path.is_file() && access(path, Access::WRITE_OK).is_err()).then_some(path)
    }

    /// Refuses to write to a file whose data a loop device has.
    ///
    /// # Errors
    /// A loop device has it: [`DirectFileError::UnderLoop`].
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

    /// The parameter that only a device with data has, if one was given: `file=` or `seed=`.
    pub fn of_bytes(&self) -> Option<&'static str> {
        match (&self.file, self.seed) {
            (Some(_), _) => Some("file="),
            (None, Some(_)) => Some("seed="),
            (None, None) => None,
        }
    }

    /// Bytes of its namespace and of a block, as the parameters or else the profile say.
    ///
    /// # Errors
    /// The size is no multiple of the block.
    pub fn geometry(&self, profile: &DeviceProfile) -> Result<(u64, u32), OpenError> {
        self.check_size(profile)?;
        let block = self.lba.unwrap_or(profile.lba.default_bytes);
        Ok((self.size.unwrap_or(profile.capacity()), block))
    }

    /// Name of the profile that it follows, or the path of its file.
    pub(crate) fn profile_name(&self) -> &str {
        &self.profile
    }

    /// The profile that it follows.
    ///
    /// # Errors
    /// There is no such profile, or its file cannot be read.
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

    /// Options of the emulated controller, which has `seed` where the name gives none.
    ///
    /// # Errors
    /// The profile, the size, or the memory that the namespace would take.
    pub fn options(&self, name: &str, seed: u64) -> Result<Options, OpenError> {
        let profile = self.profile()?;
        self.check_size(&profile)?;
        let mut options = Options::new(profile);
        options.name = name.into();
        options.seed = self.seed.unwrap_or(seed).wrapping_add(self.number);
        options.real_interrupts = self.real_interrupts;
        options.weighted_round_robin = self.weighted_round_robin;
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

    /// Makes the controller that the user named `name`, for `here`, and opens it.
    ///
    /// # Errors
    /// The parameters, the file, or the controller's answers.
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
}
