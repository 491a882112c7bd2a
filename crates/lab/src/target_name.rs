//! Names of targets: a controller that joulio drives, or a device or file that the kernel drives.

use crate::device_name::{DeviceKind, DeviceName};
use crate::device_name_error::{DeviceNameError, number};
use crate::device_short_name::{full_name, is_path};
use crate::error::OpenError;
use joulio_workload::EngineName;
use std::path::PathBuf;
use std::str::FromStr;

/// Value of `--device` for a command that does I/O.
#[derive(Clone, Debug)]
pub enum TargetName {
    /// A controller for the user-space driver.
    Own(DeviceName),
    /// A block device or a file: /dev/nvme0n1, ./disk.img.
    Kernel(PathBuf),
}

impl Default for TargetName {
    /// Returns the emulated device that commands use by default.
    fn default() -> TargetName {
        TargetName::Own(DeviceName::default())
    }
}

impl FromStr for TargetName {
    type Err = DeviceNameError;

    fn from_str(text: &str) -> Result<TargetName, DeviceNameError> {
        let other = ", or a path: /dev/nvme0n1, ./disk.img";
        let text = &*full_name(text).map_err(|error| error.or(other))?;
        if is_path(text) {
            return Ok(TargetName::Kernel(text.into()));
        }
        text.parse()
            .map(TargetName::Own)
            .map_err(|error: DeviceNameError| error.or(other))
    }
}

/// Value of `--device` for a command that does I/O, which may name several equal devices:
/// `emulated:optane-900p,count=7`.
#[derive(Clone, Debug)]
pub struct TargetNames {
    text: String,
    names: Vec<TargetName>,
}

/// Largest number of devices that one name stands for.
const MAX_COUNT: u64 = 256;

impl TargetNames {
    /// Returns the name as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the targets, at least one.
    pub fn names(&self) -> &[TargetName] {
        &self.names
    }
}

impl FromStr for TargetNames {
    type Err = DeviceNameError;

    fn from_str(text: &str) -> Result<TargetNames, DeviceNameError> {
        let is_count = |part: &&str| part.starts_with("count=");
        let counts: Vec<_> = text.split(',').skip(1).filter(is_count).collect();
        let count = match counts.as_slice() {
            _ if !full_name(text).is_ok_and(|name| name.starts_with("emulated:")) => None,
            [] => None,
            [count] => Some(*count),
            [first, second, ..] => {
                return Err(DeviceNameError::Twice((*first).into(), (*second).into()));
            }
        };
        let Some(count) = count else {
            let names = vec![text.parse()?];
            let text = text.into();
            return Ok(TargetNames { text, names });
        };
        if text.split(',').any(|part| part.starts_with("file=")) {
            return Err(DeviceNameError::CountOfFile(text.into()));
        }
        let one: Vec<_> = text.split(',').filter(|part| !is_count(part)).collect();
        let one = one.join(",");
        let how_many: u64 = number(count, count.trim_start_matches("count="))?;
        if !(1..=MAX_COUNT).contains(&how_many) {
            return Err(DeviceNameError::Count(count.into()));
        }
        let names = (0..how_many).map(|number| format!("{one}#{number}").parse());
        Ok(TargetNames {
            text: text.into(),
            names: names.collect::<Result<_, _>>()?,
        })
    }
}

impl TargetName {
    /// Returns the full name: `emulated:optane-900p` for `optane-900p`.
    pub fn text(&self) -> String {
        match self {
            TargetName::Own(name) => name.text.clone(),
            TargetName::Kernel(path) => path.display().to_string(),
        }
    }

    /// Returns true if this process emulates the device.
    pub fn is_emulated(&self) -> bool {
        let TargetName::Own(DeviceName { kind, .. }) = self else {
            return false;
        };
        matches!(kind, DeviceKind::Emulated(_))
    }

    /// Returns the default engine for the target.
    pub fn engine(&self) -> EngineName {
        match self {
            TargetName::Own(_) => EngineName::Nvme,
            TargetName::Kernel(_) => EngineName::IoUring,
        }
    }

    /// Returns an error if the engine does not support the target.
    ///
    /// # Errors
    /// The engine is for targets of the other kind.
    pub fn check(&self, engine: EngineName) -> Result<(), OpenError> {
        match self {
            TargetName::Own(name) if engine.takes_block_devices() => {
                Err(OpenError::NeedsBlockDevice {
                    engine,
                    name: name.text.clone(),
                })
            }
            TargetName::Kernel(path) if !engine.takes_block_devices() => {
                Err(OpenError::NeedsController {
                    engine,
                    path: path.clone(),
                })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let names: TargetNames = text.parse().unwrap();
        assert_eq!(names.text(), text);
        names.names().iter().map(TargetName::text).collect()
    }

    #[test]
    fn a_count_is_as_many_equal_devices() {
        assert_eq!(names("emulated:instant"), ["emulated:instant"]);
        assert_eq!(
            names("emulated:instant,count=2,size=1M"),
            ["emulated:instant,size=1M#0", "emulated:instant,size=1M#1"]
        );
        assert_eq!(names("emulated:instant,count=7").len(), 7);
        assert_eq!(names("emulated,count=7"), names("optane-900p,count=7"));
        // A comma in a path is part of the path.
        assert_eq!(names("./a,count=2"), ["./a,count=2"]);
        for bad in [
            "emulated:instant,count=0",
            "emulated:instant,count=257",
            "emulated:instant,count=x",
            "emulated:instant,count=2,count=3",
            "emulated:instant,count=2,file=a",
            "pcie:0000:01:00.0,count=2",
            "vfio-user:a,count=2",
        ] {
            let error = bad.parse::<TargetNames>().unwrap_err().to_string();
            assert!(!error.is_empty() && !error.contains('\n'), "{bad}: {error}");
        }
    }
}
