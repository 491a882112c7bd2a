//! Profiles in files, whose content may change between sessions.

use super::machine::SweepMachine;
use super::options::{SweepOptions, devices_text};
use crate::device_name::{DeviceKind, DeviceName};
use crate::machine_profile;
use crate::record::Point;
use crate::sweep::Factor;
use crate::target_name::TargetName;
use serde::Serialize;
use serde_json::{Map, Value};

/// Key of the profiles in the header of a file of records.
const KEY: &str = "profiles";

impl SweepOptions {
    /// Returns the profiles of devices and machines of all sections that are files, by path. A file that cannot be read
    /// is left out: no run can use it.
    pub(crate) fn file_profiles(&self) -> Map<String, Value> {
        let mut found = Map::new();
        let mut add = |path: &str, profile: Option<Value>| {
            found.extend(profile.map(|profile| (path.to_owned(), profile)));
        };
        for section in self.sections() {
            if let Some(path) = section.base.energy.machine.as_deref().filter(is_file) {
                add(path, machine_profile(Some(path)).ok().and_then(value));
            }
            for device in section.all_devices() {
                let TargetName::Own(DeviceName {
                    kind: DeviceKind::Emulated(emulated),
                    ..
                }) = device
                else {
                    continue;
                };
                let path = Some(emulated.profile_name()).filter(is_file);
                if let Some(path) = path {
                    add(path, emulated.profile().ok().and_then(value));
                }
            }
        }
        found
    }

    /// Returns the devices of all runs of this section.
    fn all_devices(&self) -> Vec<TargetName> {
        let listed = self.axes.values(Factor::Device).iter().flat_map(|text| {
            let point = Point::from([(Factor::Device.name().to_owned(), text.clone())]);
            let text = devices_text(&point)?;
            Factor::Device.parse::<super::DeviceSet>(&text).ok()
        });
        let listed = listed.flat_map(|set| set.targets());
        listed.chain(self.base.targets.devices.clone()).collect()
    }
}

/// Returns true if `name` is a file's, by the rule for loading profiles; other names are built-in profiles'.
fn is_file(name: &&str) -> bool {
    name.ends_with(".toml")
}

fn value(profile: impl Serialize) -> Option<Value> {
    serde_json::to_value(profile).ok()
}

/// Returns true if records below the header `kept` may belong to `header`: the headers are equal, and so is the content
/// of profiles in files. Whether the machine is the same is not checked.
pub(crate) fn has_records_of(kept: &Value, header: &Value) -> bool {
    let parted = |header: &Value| {
        let mut header = header.clone();
        let mut all = header.as_object_mut();
        let mut take = |key| all.as_mut().and_then(|all| all.remove(key));
        let (profiles, _) = (take(KEY), take(SweepMachine::KEY));
        (header, profiles.unwrap_or_default())
    };
    let ((kept, there), (header, profiles)) = (parted(kept), parted(header));
    let mut profiles = profiles.as_object().into_iter().flatten();
    kept == header && profiles.all(|(path, profile)| there.get(path) == Some(profile))
}
