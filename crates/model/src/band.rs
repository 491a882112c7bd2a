//! What a modelled energy may be at the least and at the most.

use std::ops::Add;

use joulio_units::{Joules, Watts};

use crate::Figure;

/// Which number of its band every figure is taken at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pick {
    /// The one that makes the energy least.
    Low,
    /// The figure's own value.
    Value,
    /// The one that makes the energy most.
    High,
}

impl Pick {
    /// For a figure that is taken off: the other end, for the same effect on the energy.
    pub(crate) fn opposite(self) -> Pick {
        match self {
            Pick::Low => Pick::High,
            Pick::Value => Pick::Value,
            Pick::High => Pick::Low,
        }
    }

    /// For a figure that counts for more if `raises`, and is taken off if not.
    pub(crate) fn toward(self, raises: bool) -> Pick {
        if raises { self } else { self.opposite() }
    }
}

impl Figure {
    /// The number of its band that `pick` names; without a band it is taken at its word.
    pub fn at(&self, pick: Pick) -> f64 {
        let [low, high] = self.band.unwrap_or([self.value; 2]);
        match pick {
            Pick::Low => low,
            Pick::Value => self.value,
            Pick::High => high,
        }
    }

    pub(crate) fn watts_at(&self, pick: Pick) -> Watts {
        Watts(self.at(pick))
    }
}

/// The least and the most that an energy may be.
///
/// Of a modelled energy it is wide, because it takes all figures to be wrong the same way at once.
/// Times, counts and frequencies are taken as the run has them: the band is that of watts and
/// joules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// The least.
    pub low: Joules,
    /// The most.
    pub high: Joules,
}

impl Band {
    /// The band of what `joules` gives for each end.
    pub fn of(joules: impl Fn(Pick) -> Joules) -> Band {
        Band {
            low: joules(Pick::Low),
            high: joules(Pick::High),
        }
    }

    /// Whether `joules` lies inside, the ends included.
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
