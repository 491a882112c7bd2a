//! Events that the logger recorded.

use joulio_units::Nanos;

/// An event that the logger recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggerEvent {
    /// Time of the event, by the logger's clock.
    pub at: Nanos,
    /// Name of the column, such as `Host Connected`.
    pub name: String,
    /// Text of the cell, such as `Logged`.
    pub text: String,
}
