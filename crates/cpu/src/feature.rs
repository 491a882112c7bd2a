//! Features of CPUs that waits without the kernel need.

use crate::arch;
use std::fmt;
use std::sync::OnceLock;

/// A CPU feature that a user-level wait needs. All are x86's, and other CPUs lack them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// TPAUSE, UMONITOR and UMWAIT (Intel SDM, CPUID leaf 7).
    Waitpkg,
    /// MONITORX and MWAITX (AMD APM, CPUID leaf 8000_0001h).
    Mwaitx,
    /// User interrupts (Intel SDM, CPUID leaf 7).
    Uintr,
}

/// A feature that this CPU does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingFeature(pub Feature);

impl fmt::Display for MissingFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            Feature::Waitpkg => "WAITPKG",
            Feature::Mwaitx => "MONITORX",
            Feature::Uintr => "user interrupts",
        };
        write!(f, "this CPU has no {name}{}", arch::lack(self.0))
    }
}

impl std::error::Error for MissingFeature {}

impl Feature {
    /// Checks that this CPU has the feature. CPUID, which is slow in a virtual machine, is executed only once.
    ///
    /// # Errors
    /// The CPU lacks the feature.
    pub fn check(self) -> Result<(), MissingFeature> {
        static FOUND: [OnceLock<bool>; 3] = [const { OnceLock::new() }; 3];
        match FOUND[self as usize].get_or_init(|| arch::has(self)) {
            true => Ok(()),
            false => Err(MissingFeature(self)),
        }
    }
}
