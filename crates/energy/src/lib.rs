//! Energy that says what it includes and where it comes from.
//!
//! The same run has a different winner at the wall than at the cores, so no figure stands without
//! its [`Boundary`] and its source. Meters of hardware are not read yet: the only source is the
//! model, and its figures are marked.
#![forbid(unsafe_code)]

mod boundary;
mod modelled;

pub use boundary::Boundary;
pub use modelled::Model;

use joulio_units::{Joules, Nanos, Watts};

/// The energy of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// What it includes.
    pub boundary: Boundary,
    /// The meter, or the profiles of the model.
    pub source: String,
    /// It was computed from profiles, not measured.
    pub modelled: bool,
    /// The energy.
    pub joules: Joules,
    /// How long the window was.
    pub window: Nanos,
}

impl Energy {
    /// The mean power; zero for an empty window.
    pub fn watts(&self) -> Watts {
        if self.window == Nanos::ZERO {
            Watts(0.0)
        } else {
            self.joules / self.window
        }
    }

    /// `amount` per joule; none where no energy was spent. I/Os per joule are SNIA Emerald's
    /// IOPS per watt, bytes per joule its (bytes/s) per watt.
    pub fn per_joule(&self, amount: u64) -> Option<f64> {
        (self.joules.0 > 0.0).then(|| amount as f64 / self.joules.0)
    }
}
