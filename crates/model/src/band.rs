//! The ends of a figure's band, and the band of a computed energy.

use joulio_units::{Band, Joules, Watts};

use crate::Figure;

/// Choice of one number of each figure's band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pick {
    /// The end that gives the least energy.
    Low,
    /// The figure's own value.
    Value,
    /// The end that gives the most energy.
    High,
}

impl Pick {
    /// Returns the band of an energy, which `joules` computes with all figures at the low end and at the high end.
    pub fn band(joules: impl Fn(Pick) -> Joules) -> Band {
        Band {
            low: joules(Pick::Low),
            high: joules(Pick::High),
        }
    }

    /// Returns the other end of the band, for a figure that is subtracted, so that the effect on the energy is the
    /// same.
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
    /// Returns the number of the figure's band for `pick`; its value if it has no band.
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
