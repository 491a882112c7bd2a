//! Garbage collection: bursts in which part of the medium serves no I/O.

use joulio_units::Nanos;
use rand_distr::Bernoulli;

use super::spread::Spread;
use crate::device::GarbageCollection;

/// Bursts of garbage collection: bytes until the next, and end of the latest.
///
/// A burst begins when the write that completes `bytes` is taken, and affects the I/Os after it. A burst that
/// becomes due during another prolongs it to its own end: other dies collect at the same time, and no more than one
/// burst is ever owed. So a flood of writes sees at most one long burst, and I/Os after a pause of `us` see none.
#[derive(Clone, Debug)]
pub(super) struct Collection {
    every: u64,
    lasts: Nanos,
    chance: Bernoulli,
    written: u64,
    until: Nanos,
}

impl Collection {
    pub(super) fn new(profile: &GarbageCollection) -> Option<Collection> {
        Some(Collection {
            every: profile.bytes.count().max(1),
            lasts: Nanos::nearest(profile.us.value * 1e3),
            chance: Bernoulli::new(profile.fraction.value).ok()?,
            written: 0,
            until: Nanos::ZERO,
        })
    }

    /// Returns the time at which an I/O that is taken at `taken` reaches the medium.
    pub(super) fn reach(&self, taken: Nanos, spread: &mut Spread) -> Nanos {
        if taken < self.until && spread.happens(self.chance) {
            self.until
        } else {
            taken
        }
    }

    /// Counts a write that was taken at `taken`.
    pub(super) fn wrote(&mut self, taken: Nanos, bytes: u32) {
        self.written += u64::from(bytes);
        if self.written >= self.every {
            self.written %= self.every;
            self.until = self.until.max(taken + self.lasts);
        }
    }
}
