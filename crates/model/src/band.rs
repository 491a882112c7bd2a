//! The ends of a figure's band, and the band of an energy that follows from them.

use joulio_units::{Band, Joules, Watts};

use crate::Figure;

/// Number of its band at which every figure is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pick {
    /// The end that makes the energy least.
    Low,
    /// The figure's own value.
    Value,
    /// The end that makes the energy most.
    High,
}

impl Pick {
    /// The band of an energy, from what `joules` gives for the low and the high end.
    pub fn band(joules: impl Fn(Pick) -> Joules) -> Band {
        Band {
            low: joules(Pick::Low),
            high: joules(Pick::High),
        }
    }

    /// Returns the other end of the band, for a figure that is subtracted: the effect on the energy is then the same.
    pub(crate) fn opposite(self) -> Pick {
        match self {
            Pick::Low => Pick::High,
            Pick::Value => Pick::Value,
            Pick::High => Pick::Low,
        }
    }

    /// Returns this end for a figure that raises the energy, if `raises`, and the other end for one that lowers it.
    pub(crate) fn toward(self, raises: bool) -> Pick {
        if raises { self } else { self.opposite() }
    }
}

impl Figure {
    /// Returns the number of the figure's band that `pick` names; without a band its value.
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
