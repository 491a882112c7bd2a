//! The bounds of a modelled energy.

use crate::Joules;
use core::ops::Add;

/// The lowest and the highest value that an energy may have.
///
/// The band of a modelled energy is wide, because it assumes that all figures of the profiles are wrong in the same
/// direction at once. Times, counts and frequencies are those of the run, without a band: the band is that of watts and
/// joules.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Band {
    /// The lowest value.
    pub low: Joules,
    /// The highest value.
    pub high: Joules,
}

impl Band {
    /// Whether `joules` lies inside the band, the ends included.
    pub fn holds(&self, joules: Joules) -> bool {
        self.low <= joules && joules <= self.high
    }
}

impl Add for Band {
    type Output = Band;
    fn add(self, other: Band) -> Band {
        Band {
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }
}
