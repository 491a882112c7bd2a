//! The claims on the back ends that need only this process, and on controllers with faults.

mod emulator;
mod faults;
mod vfio_user;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits until no other test runs: a device's thread and a spinning queue need a CPU each.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the number of I/Os of a mixed run; more with JOULIO_THOROUGH.
pub fn ios() -> u64 {
    match std::env::var_os("JOULIO_THOROUGH") {
        Some(_) => joulio_conformance::IOS,
        None => 2_000,
    }
}
