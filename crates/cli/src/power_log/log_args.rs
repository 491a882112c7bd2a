//! Flags for reading a logger's export.

use clap::ValueEnum;
use joulio_energy::logger::{self, LogOptions};

/// Flags of whatever reads a logger's export.
#[derive(clap::Args)]
pub struct LogArgs {
    /// Order of month, day and year in the export, if its dates can be read in more than one order
    #[arg(long, value_enum)]
    date_order: Option<DateOrder>,
    /// Decimal separator of the export's numbers, if they can be read with either
    #[arg(long, value_enum)]
    decimal: Option<Decimal>,
}

/// `--date-order`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DateOrder {
    /// 07/14/22.
    Mdy,
    /// 14/07/22.
    Dmy,
    /// 22/07/14.
    Ymd,
}

/// `--decimal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Decimal {
    /// 88.4.
    Point,
    /// 88,4.
    Comma,
}

impl LogArgs {
    /// Returns the options for reading the export.
    pub fn options(&self) -> LogOptions {
        LogOptions {
            date_order: self.date_order.map(|order| match order {
                DateOrder::Mdy => logger::DateOrder::MonthDayYear,
                DateOrder::Dmy => logger::DateOrder::DayMonthYear,
                DateOrder::Ymd => logger::DateOrder::YearMonthDay,
            }),
            decimal: self.decimal.map(|decimal| match decimal {
                Decimal::Point => logger::Decimal::Point,
                Decimal::Comma => logger::Decimal::Comma,
            }),
        }
    }
}
