//! A machine and devices for all tests.
#![allow(dead_code, reason = "each test file uses some of it")]

pub mod policies;

use joulio_job::{CompletionMode, EngineName, Method};
use joulio_model::{DeviceProfile, MachineProfile};

pub fn machine() -> MachineProfile {
    MachineProfile::builtin("xeon-e3-1230v5").unwrap()
}

pub fn device(name: &str) -> DeviceProfile {
    DeviceProfile::builtin(name).unwrap()
}

/// Returns a method on the path of `engine`.
pub fn method(engine: EngineName) -> Method {
    Method {
        engine,
        mode: CompletionMode::Poll,
    }
}
