//! Features of x86, which this architecture does not have.

use crate::Feature;

/// Returns `false`: this CPU has no `feature` of x86.
pub(crate) fn has(_: Feature) -> bool {
    false
}

/// Returns words that follow the name of a missing feature.
pub(crate) fn lack(_: Feature) -> &'static str {
    ": an x86 feature"
}

#[cfg(test)]
mod tests {
    use crate::uintr::{Code, Receiver, UintrError};
    use crate::{Depth, Feature, MissingFeature, UserWait};

    #[test]
    fn what_is_missing_is_named_as_another_architectures() {
        let missing = UserWait::detect(Depth::C02).unwrap_err();
        assert_eq!(missing, MissingFeature(Feature::Waitpkg));
        assert_eq!(
            missing.to_string(),
            "this CPU has no WAITPKG: an x86 feature"
        );
        let missing = Receiver::open(Depth::C02).unwrap_err();
        assert_eq!(missing, UintrError::Cpu(MissingFeature(Feature::Uintr)));
        assert_eq!(
            missing.to_string(),
            "this CPU has no user interrupts: an x86 feature"
        );
        assert!(Code::here().instructions.is_empty());
    }
}
