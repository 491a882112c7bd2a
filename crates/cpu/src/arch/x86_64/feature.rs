//! Features of this CPU, by CPUID.

use crate::Feature;
use raw_cpuid::{CpuIdResult, cpuid};

/// Returns whether this CPU has `feature`.
pub(crate) fn has(feature: Feature) -> bool {
    let leaf = match feature {
        Feature::Mwaitx => leaf(0x8000_0000, 0x8000_0001),
        Feature::Waitpkg | Feature::Uintr => leaf(0, 7),
    };
    leaf.is_some_and(|leaf| is_in(leaf, feature))
}

/// Returns words that follow the name of a missing feature: the bit of CPUID.
pub(crate) fn lack(feature: Feature) -> &'static str {
    match feature {
        Feature::Waitpkg => " (CPUID 7.0:ECX[5])",
        Feature::Mwaitx => " (CPUID 8000_0001:ECX[29])",
        Feature::Uintr => " (CPUID 7.0:EDX[5])",
    }
}

fn is_in(leaf: CpuIdResult, feature: Feature) -> bool {
    let (register, bit) = match feature {
        Feature::Waitpkg => (leaf.ecx, 5),
        Feature::Mwaitx => (leaf.ecx, 29),
        Feature::Uintr => (leaf.edx, 5),
    };
    register >> bit & 1 == 1
}

/// Returns the result of CPUID for `leaf`, if it is at most the highest leaf of its kind, which `first` returns.
fn leaf(first: u32, leaf: u32) -> Option<CpuIdResult> {
    (cpuid!(first).eax >= leaf).then(|| cpuid!(leaf, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MissingFeature;

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
            assert!(!is_in(none, feature) && is_in(all, feature));
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
