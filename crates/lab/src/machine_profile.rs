//! Profile of the machine whose figures the models use.

use joulio_energy::{Processor, Root};
use joulio_model::{MachineProfile, ProfileError};

/// Returns the profile of the machine `name`; without a name, the one that fits this processor, or otherwise a typical
/// one.
///
/// # Errors
/// There is no profile of that name, or its file is not a profile.
pub fn machine_profile(name: Option<&str>) -> Result<MachineProfile, ProfileError> {
    machine_profile_at(&Root::system(), name)
}

/// Returns the profile of the machine `name`; without a name, the one that fits the processor of `root`, or otherwise a
/// typical one.
///
/// # Errors
/// There is no profile of that name, or its file is not a profile.
pub fn machine_profile_at(root: &Root, name: Option<&str>) -> Result<MachineProfile, ProfileError> {
    let fitting = || MachineProfile::fitting(&Processor::of(root).name);
    match (name, name.is_none().then(fitting).flatten()) {
        (_, Some(fitting)) => Ok(fitting),
        (name, None) => MachineProfile::load(name.unwrap_or(MachineProfile::DEFAULT)),
    }
}
