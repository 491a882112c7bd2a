//! The edges of a window.

use super::WindowError;
use crate::Reading;
use joulio_units::Nanos;

/// The edge, or why there is none.
pub(super) type EdgeResult = Result<Edge, WindowError>;

/// An end of a window, at one meter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// The reading at the edge.
    pub(super) reading: Reading,
    /// Largest age of the reading.
    pub(super) within: Nanos,
    /// Whether the edge lies on an update of the counter.
    pub(super) aligned: bool,
}
