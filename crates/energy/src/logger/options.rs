//! Options of an import.

use super::{DateOrder, Decimal};

/// Facts that a file may leave open.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogOptions {
    /// Order of day, month and year, if the file leaves it open.
    pub date_order: Option<DateOrder>,
    /// Decimal separator, if the file leaves it open.
    pub decimal: Option<Decimal>,
}
