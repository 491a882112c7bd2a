//! A profile of either kind, by name or from a file.

use serde::Serialize;

use crate::catalogue::{Profile, parse, text_of};
use crate::{Census, DeviceProfile, MachineProfile, ProfileError};

/// Profile of a machine or of a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AnyProfile {
    /// Profile of a machine.
    Machine(Box<MachineProfile>),
    /// Profile of a device.
    Device(Box<DeviceProfile>),
}

impl AnyProfile {
    /// Returns the built-in profiles with their texts: machines, then devices.
    ///
    /// # Errors
    /// [`ProfileError`]: a built-in profile is invalid, which is a bug of joulio.
    pub fn builtin() -> Result<Vec<(AnyProfile, &'static str)>, ProfileError> {
        let machines = MachineProfile::BUILTIN.iter();
        let devices = DeviceProfile::BUILTIN.iter();
        let machines = machines.map(|&(name, text)| Ok((AnyProfile::machine(text, name)?, text)));
        let devices = devices.map(|&(name, text)| Ok((AnyProfile::device(text, name)?, text)));
        machines.chain(devices).collect()
    }

    /// Reads the profile in the file at `path`; that of a device has a table `[service]`.
    ///
    /// # Errors
    /// [`ProfileError`]: the file cannot be read, or is not a profile.
    pub fn read(path: &str) -> Result<AnyProfile, ProfileError> {
        let text = text_of(path)?;
        // Text that is not TOML is refused below, with the line.
        let table = text.parse::<toml::Table>().unwrap_or_default();
        if table.contains_key("service") {
            AnyProfile::device(&text, path)
        } else {
            AnyProfile::machine(&text, path)
        }
    }

    fn machine(text: &str, origin: &str) -> Result<AnyProfile, ProfileError> {
        Ok(AnyProfile::Machine(Box::new(parse(text, origin)?)))
    }

    fn device(text: &str, origin: &str) -> Result<AnyProfile, ProfileError> {
        Ok(AnyProfile::Device(Box::new(parse(text, origin)?)))
    }

    /// Returns `machine` or `device`.
    pub fn what(&self) -> &'static str {
        match self {
            AnyProfile::Machine(_) => MachineProfile::WHAT,
            AnyProfile::Device(_) => DeviceProfile::WHAT,
        }
    }

    /// Returns the profile's name.
    pub fn name(&self) -> &str {
        match self {
            AnyProfile::Machine(machine) => &machine.name,
            AnyProfile::Device(device) => &device.name,
        }
    }

    /// Returns a sentence on what is modelled.
    pub fn description(&self) -> &str {
        match self {
            AnyProfile::Machine(machine) => &machine.description,
            AnyProfile::Device(device) => &device.description,
        }
    }

    /// Counts the profile's figures by kind.
    pub fn census(&self) -> Census {
        Census::of(self)
    }
}
