//! Errors of importing a file.

/// Reason why a logger's file was refused; each message is one line that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The bytes are UTF-16, as some spreadsheets save text.
    #[error("the file is UTF-16: save it as CSV in UTF-8")]
    Utf16,
    /// The file has no header of HOBOware. Only that has the offset of the times from UTC, so without it no sample has
    /// a time.
    #[error(
        "no header with the times' offset from UTC, as in \"Date Time, GMT-05:00\": \
         export from HOBOware with the column headings"
    )]
    NoHeader,
    /// The offset from UTC in the header is not possible on Earth.
    #[error("column '{heading}': the offset from UTC is invalid")]
    Offset {
        /// Heading of the column.
        heading: String,
    },
    /// The file has no column of power.
    #[error(
        "no column is an active power in W, kW or mW; the columns are {columns}: export the Active \
         Power series"
    )]
    NoPower {
        /// Names of the columns.
        columns: String,
    },
    /// More than one column is a power.
    #[error("several columns are a power ({columns}): export one of them")]
    SeveralPowers {
        /// Names of those columns.
        columns: String,
    },
    /// The column is a power by its name, in an unknown unit.
    #[error("column '{heading}': the unit '{unit}' is not known, but W, kW and mW are")]
    Unit {
        /// Heading of the column.
        heading: String,
        /// Text where the unit should be.
        unit: String,
    },
    /// A row has more cells than the header has columns, so that they cannot be matched.
    #[error("line {line}: more cells than the header has columns")]
    Cells {
        /// The line, counted from 1.
        line: u64,
    },
    /// A cell is not a date and time in any known order.
    #[error("line {line}: '{text}' is not a date and a time")]
    Date {
        /// The line, counted from 1.
        line: u64,
        /// Text of the cell.
        text: String,
    },
    /// The dates can be read in more than one order, and nothing in the file shows which is meant.
    #[error(
        "the dates can be read as {orders} (the first is '{text}'): say which by --date-order mdy, \
         dmy or ymd"
    )]
    DateOrder {
        /// Orders that are possible.
        orders: String,
        /// The first date.
        text: String,
    },
    /// A sample is not later than the one before, in every order that the dates can have.
    #[error(
        "line {line}: the time '{text}' is not after the one before: export one deployment, with \
         seconds in the times (or say another --date-order)"
    )]
    Backwards {
        /// The line, counted from 1.
        line: u64,
        /// Text of the cell.
        text: String,
    },
    /// A power is not a number.
    #[error("line {line}: '{text}' is not a power")]
    Number {
        /// The line, counted from 1.
        line: u64,
        /// Text of the cell.
        text: String,
    },
    /// A separator may be a decimal or a thousands separator.
    #[error(
        "line {line}: '{text}' may have a decimal or a thousands separator: say which by --decimal \
         point or comma"
    )]
    Decimal {
        /// The line, counted from 1.
        line: u64,
        /// Text of the cell.
        text: String,
    },
    /// No row has a power.
    #[error("no sample: no complete row has a power")]
    NoSamples,
}
