//! The edges of a window.

use super::WindowError;
use crate::Reading;
use joulio_units::Nanos;

/// The edge, or the reason why there is none.
pub(super) type EdgeResult = Result<Edge, WindowError>;

/// An end of a window for one meter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// The reading at the edge.
    pub(super) reading: Reading,
    /// Greatest age of the reading.
    pub(super) within: Nanos,
    /// Whether the edge is at an update of the counter.
    pub(super) aligned: bool,
}
