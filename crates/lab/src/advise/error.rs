//! Why there is no advice.

use joulio_units::{Boundary, Nanos, Percentile, Watts};

/// Why there is no advice. Nothing was changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AdviseError {
    /// A percentile that results do not have.
    #[error("--slo {0}: advice goes by p50, p90, p99 and p99.9: promise one of these")]
    Percentile(Percentile),
    /// No run has figures.
    #[error("no completion mode is available: {0}")]
    Unavailable(String),
    /// No energy figure within the boundary.
    #[error(
        "--objective {0}: no figure of energy there: joulio power says which meters can be read, --machine names a profile for the model"
    )]
    NoFigure(String),
    /// A promise that nothing keeps.
    #[error(
        "--slo {percentile}={limit}: nothing here is as quick: the quickest, {quickest}, has {percentile} of {latency}: promise more"
    )]
    Promise {
        /// Percentile of the promise.
        percentile: Percentile,
        /// Latency that was promised.
        limit: Microseconds,
        /// The quickest candidate there.
        quickest: String,
        /// Its latency.
        latency: Microseconds,
    },
    /// A cap that nothing is below.
    #[error(
        "--cap {cap}: all candidates draw more at the {boundary}: the least, {least}, takes {:.1} W: allow more",
        watts.0
    )]
    Cap {
        /// Watts that were allowed.
        cap: Watts,
        /// Boundary of the watts.
        boundary: Boundary,
        /// The candidate that draws the least.
        least: String,
        /// Its watts.
        watts: Watts,
    },
}

/// A time as people read it, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Microseconds(pub Nanos);

impl std::fmt::Display for Microseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let us = self.0.0 as f64 / 1e3;
        match self.0.0 % 1_000 {
            0 => write!(f, "{us:.0}us"),
            _ => write!(f, "{us:.1}us"),
        }
    }
}
