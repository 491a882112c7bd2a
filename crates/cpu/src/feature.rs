//! Features of this CPU, by CPUID.

use raw_cpuid::{CpuIdResult, cpuid};
use std::fmt;
use std::sync::OnceLock;

/// A CPU feature that a user-level wait needs.
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
        let (name, bit) = match self.0 {
            Feature::Waitpkg => ("WAITPKG", "CPUID 7.0:ECX[5]"),
            Feature::Mwaitx => ("MONITORX", "CPUID 8000_0001:ECX[29]"),
            Feature::Uintr => ("user interrupts", "CPUID 7.0:EDX[5]"),
        };
        write!(f, "this CPU has no {name} ({bit})")
    }
}

impl std::error::Error for MissingFeature {}

impl Feature {
    /// Checks that this CPU has the feature. CPUID, which is slow in a virtual machine, is run
    /// once.
    ///
    /// # Errors
    /// The CPU lacks the feature.
    pub fn check(self) -> Result<(), MissingFeature> {
        static FOUND: [OnceLock<bool>; 3] = [const { OnceLock::new() }; 3];
        match FOUND[self as usize].get_or_init(|| self.read()) {
            true => Ok(()),
            false => Err(MissingFeature(self)),
        }
    }

    fn read(self) -> bool {
        let leaf = match self {
            Feature::Mwaitx => leaf(0x8000_0000, 0x8000_0001),
            Feature::Waitpkg | Feature::Uintr => leaf(0, 7),
        };
        leaf.is_some_and(|leaf| self.is_in(leaf))
    }

    fn is_in(self, leaf: CpuIdResult) -> bool {
        let (register, bit) = match self {
            Feature::Waitpkg => (leaf.ecx, 5),
            Feature::Mwaitx => (leaf.ecx, 29),
            Feature::Uintr => (leaf.edx, 5),
        };
        register >> bit & 1 == 1
    }
}

/// Returns what CPUID says of `leaf`, if `first`, which gives the highest of its kind, knows it.
fn leaf(first: u32, leaf: u32) -> Option<CpuIdResult> {
    (cpuid!(first).eax >= leaf).then(|| cpuid!(leaf, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_its_own_bit() {
        let none = CpuIdResult {
            eax: !0,
            ebx: !0,
            ecx: !(1 << 5 | 1 << 29),
            edx: !(1 << 5),
        };
        let all = CpuIdResult {
            eax: 0,
            ebx: 0,
            ecx: 1 << 5 | 1 << 29,
            edx: 1 << 5,
        };
        for feature in [Feature::Waitpkg, Feature::Mwaitx, Feature::Uintr] {
            assert!(!feature.is_in(none) && feature.is_in(all));
        }
    }

    #[test]
    fn what_is_missing_is_named_with_its_bit() {
        let said = MissingFeature(Feature::Waitpkg).to_string();
        assert_eq!(said, "this CPU has no WAITPKG (CPUID 7.0:ECX[5])");
        let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let has = |flag| flags.split_whitespace().any(|word| word == flag);
        assert_eq!(Feature::Waitpkg.check().is_ok(), has("waitpkg"));
        assert_eq!(Feature::Mwaitx.check().is_ok(), has("mwaitx"));
    }
}
