//! No user-level waits.

use crate::{CacheLine, Depth, Ended, Feature, MissingFeature, Tsc};
use joulio_units::Nanos;

/// The instructions of this CPU's user-level waits: there are none, so that this type has no value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waits {}

impl Waits {
    /// Returns the error that there are none.
    pub(crate) fn detect() -> Result<Waits, MissingFeature> {
        Err(MissingFeature(Feature::Waitpkg))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {}
    }

    pub(crate) fn pause(self, _: Depth, _: Tsc, _: Nanos) -> Ended {
        match self {}
    }

    pub(crate) fn arm(self, _: CacheLine<'_>) {
        match self {}
    }

    pub(crate) fn wait(self, _: Depth, _: Tsc, _: Nanos) -> Ended {
        match self {}
    }
}
