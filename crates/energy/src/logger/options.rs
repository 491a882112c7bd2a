//! Options of an import.

use super::{DateOrder, Decimal};

/// The facts that a file does not say by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogOptions {
    /// The order of day, month and year, where the file leaves it open.
    pub date_order: Option<DateOrder>,
    /// The decimal separator, where the file leaves it open.
    pub decimal: Option<Decimal>,
}
