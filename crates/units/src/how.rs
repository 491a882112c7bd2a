//! Provenance of an energy: measured, modelled and the like.

use crate::{Joules, Nanos};

/// Provenance of an energy.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum How {
    /// Computed from profiles.
    Modelled,
    /// The difference of an energy counter between the edges of the window.
    Counted {
        /// Whether both edges lie on an update of the counter.
        aligned: bool,
        /// The unit of the counter.
        step: Joules,
    },
    /// The integral of power readings, by trapezoids.
    Sampled {
        /// The number of readings, the edges among them.
        samples: u64,
        /// The number of readings that failed; their neighbours stand in.
        missed: u64,
        /// The longest time between two readings.
        longest_gap: Nanos,
    },
    /// The sum of several energies.
    Summed,
}
