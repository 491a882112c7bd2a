//! A marker that was found in the trace.

use joulio_units::Nanos;

/// Place at which a marker was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundMarker {
    /// The middle of the marker by the machine's clock, since the epoch.
    pub at: Nanos,
    /// The logger's clock less the machine's, in seconds.
    pub offset: f64,
    /// Agreement of trace and marker, 0 to 1.
    pub correlation: f64,
}
