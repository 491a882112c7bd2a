//! Prints the time of a 4 KiB read on each device that joulio has a profile of.

use joulio_model::{DeviceProfile, ProfileError, ServiceModel};
use joulio_units::{Direction, Nanos};

/// Prints a line for each profile.
pub fn main() -> Result<(), ProfileError> {
    for name in DeviceProfile::names() {
        let mut model = ServiceModel::new(&DeviceProfile::builtin(name)?, 1);
        let first = model.start(Nanos::ZERO, Direction::Read, 4096);
        let mean = model.mean(Direction::Read, 4096);
        println!("{name:20} mean {mean:?}, the first {first:?}");
    }
    Ok(())
}
