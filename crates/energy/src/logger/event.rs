//! Notes of the logger.

use joulio_units::Nanos;

/// Something that the logger noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggerEvent {
    /// Time of the event, by the logger's clock.
    pub at: Nanos,
    /// The column's name, as `Host Connected`.
    pub name: String,
    /// The cell, as `Logged`.
    pub text: String,
}
