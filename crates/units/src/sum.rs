//! Errors of adding energies.

use crate::Nanos;
use alloc::string::String;

/// Reason why two energies cannot be added.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SumError {
    /// The joules of one are included in those of the other.
    #[error("{inner} is part of {outer}: adding them counts the same joules twice")]
    Nested {
        /// The wider zone, with its source.
        outer: String,
        /// The narrower zone, with its source.
        inner: String,
    },
    /// Two energies of one zone, or of zones that overlap.
    #[error("{one} and {other} are the same joules, read twice")]
    Same {
        /// Zone and source of one energy.
        one: String,
        /// The other energy.
        other: String,
    },
    /// The energies are of different boundaries, and their sum has no name.
    #[error("{one} and {other} have different boundaries: a sum would have none")]
    Boundaries {
        /// Zone and source of one energy.
        one: String,
        /// The other energy.
        other: String,
    },
    /// The figures are of different kinds: only one is modelled, or has its idle energy subtracted.
    #[error("{one} and {other}: only one of them is {what}")]
    Kinds {
        /// Zone and source of one energy.
        one: String,
        /// The other energy.
        other: String,
        /// The property that only one of them has.
        what: &'static str,
    },
    /// The windows have different lengths.
    #[error("{one} and {other} are of windows of {:.3} s and {:.3} s, too far apart to be added", .windows.0.seconds(), .windows.1.seconds())]
    Windows {
        /// Zone and source of one energy.
        one: String,
        /// The other energy.
        other: String,
        /// The lengths of the two windows.
        windows: (Nanos, Nanos),
    },
    /// The list is empty.
    #[error("there is nothing to add")]
    Nothing,
}
