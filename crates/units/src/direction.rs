//! The direction of an I/O's data.

/// Which way the data of an I/O goes; `Other` moves none (a flush).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the device to memory.
    Read,
    /// From memory to the device.
    Write,
    /// No data.
    Other,
}
